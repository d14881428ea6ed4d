import type { CatchUp, Retry } from "../../../client/policies.ts";
import type { Spec } from "../../../client/schedule.ts";

export interface PolicyText {
  /** Its field in the API. */
  field: keyof Spec;
  text: string;
  isDefault: boolean;
}

/**
 * The policies of a schedule in words: those that matter in an incident with their defaults, the others
 * where they are set.
 */
export function policyTexts(spec: Spec): PolicyText[] {
  if (spec.delivery === "pulse")
    return [
      { field: "delivery", text: "pulse: firing writes nothing, and nothing is made up", isDefault: false },
      spread(spec),
      ...others(spec),
    ];
  return [
    { field: "retry", text: retryText(spec.retry), isDefault: isPlainRetry(spec.retry) },
    { field: "timeout", text: `${spec.timeout} for an attempt`, isDefault: spec.timeout === "30s" },
    { field: "catchUp", text: catchUpText(spec.catchUp), isDefault: isPlainCatchUp(spec.catchUp) },
    { field: "overlap", text: overlapTexts[spec.overlap], isDefault: spec.overlap === "allow" },
    {
      field: "deadline",
      text: spec.deadline === null ? "none: late runs run" : `skipped when more than ${spec.deadline} late`,
      isDefault: spec.deadline === null,
    },
    {
      field: "maxFires",
      text: spec.maxFires === null ? "no limit" : `ends after ${spec.maxFires} runs`,
      isDefault: spec.maxFires === null,
    },
    spread(spec),
    ...others(spec),
  ];
}

const spread = ({ spread: by }: Spec): PolicyText => ({
  field: "spread",
  text: by === "0s" ? "none" : `runs move by up to ${by}, by the key`,
  isDefault: by === "0s",
});

const overlapTexts: Readonly<Record<Spec["overlap"], string>> = {
  allow: "runs may overlap",
  skip: "skipped while an earlier run is not over",
  queue: "waits until the earlier run is over",
};

function retryText({ attempts, backoff, base, max, jitter, delays }: Retry): string {
  if (attempts === 1) return "one attempt, no retry";
  if (backoff === "list") return `${attempts} attempts, after ${(delays ?? []).join(", ")}`;
  const waits = backoff === "fixed" ? `${base} apart` : `${backoff} from ${base} up to ${max}`;
  return `${attempts} attempts, ${waits}${jitter === "none" ? ", without jitter" : ""}`;
}

const isPlainRetry = ({ attempts, backoff, base, max, jitter }: Retry) =>
  attempts === 5 && backoff === "exponential" && base === "10s" && max === "1h" && jitter === "full";

function catchUpText({ policy, within, limit }: CatchUp): string {
  if (policy === "skip") return "skip: missed runs are not made up";
  const runs = policy === "latest" ? "only the latest missed run is" : `the newest ${limit} missed runs are`;
  return `${policy}: ${runs} made up${within === null ? "" : `, if no older than ${within}`}`;
}

const isPlainCatchUp = ({ policy, within }: CatchUp) => policy === "latest" && within === null;

/** Fields that are shown only where they are set. */
function others(spec: Spec): PolicyText[] {
  const texts: [keyof Spec, string | null][] = [
    ["startsAt", spec.startsAt],
    ["endsAt", spec.endsAt],
    ["slot", spec.slot],
    ["dst", spec.dst === null ? null : dstText(spec.dst)],
    ["priority", spec.priority === "normal" ? null : spec.priority],
    ["serial", spec.serial ? "one job at a time in its group" : null],
    ["holdAfter", spec.holdAfter === null ? null : `on hold after ${spec.holdAfter} dead jobs in a row`],
    ["deleteOnEnd", spec.deleteOnEnd ? "deleted when it has ended" : null],
    ["group", spec.group],
    ["tags", spec.tags.length === 0 ? null : spec.tags.join(", ")],
    ["description", spec.description],
  ];
  return texts.flatMap(([field, text]) => (text === null ? [] : [{ field, text, isDefault: false }]));
}

function dstText({ gap, overlap }: NonNullable<Spec["dst"]>): string {
  const parts = [
    gap === undefined ? null : `a time that does not exist: ${gap}`,
    overlap === undefined ? null : `a time that comes twice: ${overlap}`,
  ];
  return parts.filter((part) => part !== null).join("; ");
}
