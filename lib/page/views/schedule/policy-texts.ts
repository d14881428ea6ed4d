import type { Json } from "../../../client/json.ts";
import type { CatchUp, Retry } from "../../../client/policies.ts";
import type { Spec } from "../../../client/schedule.ts";
import { scheduleDefaults } from "../../../client/schedule-defaults.ts";
import { sameJson } from "../../data/document/same-json.ts";

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
  return [...textsOf(spec), ...others(spec)].map(([field, text]) => ({
    field,
    text,
    isDefault: sameJson(jsonOf(spec[field]), scheduleDefaults[field]),
  }));
}

/** As the API writes it. */
const jsonOf = (value: Spec[keyof Spec]): Json => JSON.parse(JSON.stringify(value));

type FieldText = readonly [field: keyof Spec, text: string];

function textsOf(spec: Spec): FieldText[] {
  const spread = spec.spread === "0s" ? "none" : `runs move by up to ${spec.spread}, by the key`;
  if (spec.delivery === "pulse")
    return [
      ["delivery", "pulse: firing writes nothing, and nothing is made up"],
      ["spread", spread],
    ];
  return [
    ["retry", retryText(spec.retry)],
    ["timeout", `${spec.timeout} for an attempt`],
    ["catchUp", catchUpText(spec.catchUp)],
    ["overlap", overlapTexts[spec.overlap]],
    [
      "deadline",
      spec.deadline === null ? "none: late runs run" : `skipped when more than ${spec.deadline} late`,
    ],
    ["maxFires", spec.maxFires === null ? "no limit" : `ends after ${spec.maxFires} runs`],
    ["spread", spread],
  ];
}

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

function catchUpText({ policy, within, limit }: CatchUp): string {
  if (policy === "skip") return "skip: missed runs are not made up";
  const runs = policy === "latest" ? "only the latest missed run is" : `the newest ${limit} missed runs are`;
  return `${policy}: ${runs} made up${within === null ? "" : `, if no older than ${within}`}`;
}

/** Fields that are shown only where they are set. */
function others(spec: Spec): FieldText[] {
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
  return texts.flatMap(([field, text]) => (text === null ? [] : [[field, text] as const]));
}

function dstText({ gap, overlap }: NonNullable<Spec["dst"]>): string {
  const parts = [
    gap === undefined ? null : `a time that does not exist: ${gap}`,
    overlap === undefined ? null : `a time that comes twice: ${overlap}`,
  ];
  return parts.filter((part) => part !== null).join("; ");
}
