import { keysTwice, momentOf, twiceText, withTag } from "../../../cli/apply/read-found.ts";
import type { Check } from "../../../cli/doctor/check.ts";
import type { Found as FoundSchedule } from "../../../cli/formats/found.ts";
import { type Acceptance, acceptanceOf } from "../../../command/acceptance.ts";
import { allowedTargetsFrom } from "../../../command/allowed-targets.ts";
import { readNamedScheduleBody } from "../../../command/schedule-input.ts";
import type { JobHandler } from "../../../job/define-job.ts";
import { Refusal } from "../../../refusal.ts";
import { begunSpec, resolveCadence } from "../../../schedule/resolve-spec.ts";
import { refusalsOf, together } from "../../../schedule/shape/faults-together.ts";
import type { ScheduleBody } from "../../../schedule/shape/schedule-body.ts";
import { localRegion } from "../../local/local-account.ts";
import type { LocalSettings } from "../../local/settings.ts";
import { type Found, lookedFor } from "../find-files.ts";
import { inFolder, loadFault } from "../load-fault.ts";
import { devTag } from "../schedules/apply-schedules.ts";
import { scheduleSource } from "../schedules/schedule-source.ts";

export interface CheckParts {
  folder: string;
  now: Date;
  local: Pick<LocalSettings, "webhookAllow" | "webhookAdvice" | "eventSources" | "targetPrefixes">;
  /** The handlers of the project; null if its module cannot be loaded, which is a fault of its own. */
  handlers: readonly JobHandler[] | null;
}

/**
 * Reads the schedules as the API of the local stack would at its start: fields, times, handlers and
 * their payloads, targets. Only a running API knows the calendars.
 */
export async function checkSchedules(found: Found | null, parts: CheckParts): Promise<Check> {
  const name = "schedules";
  if (found === null) return { name, state: "none", text: `there is no ${lookedFor.schedules}` };
  const { folder } = parts;
  const source = scheduleSource(found.file, folder);
  try {
    const all = await source.read();
    const twice = keysTwice(all);
    const acceptance = acceptanceFor(parts);
    const faults = all.flatMap((each) =>
      faultsOf(each, { twice, acceptance, now: parts.now }).map((fault) => `${placeOf(each)}: ${fault}`),
    );
    if (faults.length > 0) return { name, state: "wrong", text: faults.join("; ") };
    return { name, state: "good", text: `${all.length} from ${inFolder(found.file, folder)}` };
  } catch (error) {
    return { name, state: "wrong", text: loadFault(error, { folder, files: source.files }) };
  }
}

/** The checks of the local stack. Without its handlers, it is not known what they take. */
function acceptanceFor({ handlers, local }: CheckParts): Pick<Acceptance, "body" | "besides"> {
  const targets = allowedTargetsFrom({
    AWS_REGION: localRegion,
    CARILLON_WEBHOOK_ALLOW: local.webhookAllow,
    CARILLON_WEBHOOK_ADVICE: local.webhookAdvice,
    CARILLON_TARGET_EVENT_SOURCES: local.eventSources,
    TARGET_PREFIXES: local.targetPrefixes.join("\n"),
  });
  const acceptance = acceptanceOf({ handlers: handlers ?? [], targets });
  if (handlers !== null) return acceptance;
  return {
    body: (body, key) => ("handler" in body.target ? undefined : acceptance.body(body, key)),
    besides: () => [],
  };
}

const placeOf = ({ from, key }: FoundSchedule) =>
  key === null || from.endsWith(key) ? from : `${from} (${key})`;

interface Reading {
  twice: ReadonlyMap<string, readonly string[]>;
  acceptance: Pick<Acceptance, "body" | "besides">;
  now: Date;
}

function faultsOf({ key, body, faults }: FoundSchedule, { twice, acceptance, now }: Reading): string[] {
  const places = key === null ? undefined : twice.get(key);
  const known = [...(places === undefined ? [] : [twiceText(places)]), ...faults];
  if (faults.length > 0 || key === null) return known;
  try {
    const keyed: unknown = { ...withTag(body, devTag), key };
    const read = readNamedScheduleBody(keyed, acceptance.besides);
    refuseUnplanned(key, read.body, { acceptance, now });
    return known;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const refused = error.faults.map(({ path, message }) => `${path} ${message}`.trim());
    return [...known, ...(refused.length === 0 ? [error.message] : refused)];
  }
}

function refuseUnplanned(
  key: string,
  body: ScheduleBody,
  { acceptance, now }: Pick<Reading, "acceptance" | "now">,
): void {
  const { isOver, isRelative } = momentOf(body, key, now.getTime());
  const refusals = refusalsOf(
    () => acceptance.body(body, key),
    () => {
      // A schedule that is over is not made, which is no fault.
      if (isOver) return;
      if (isRelative) throw new Refusal("invalid", "", [{ path: "when", message: relativeText }]);
      begunSpec({ body, cadence: resolveCadence(key, body, now, null), calendar: null }, now);
    },
  );
  if (refusals.length > 0) throw together(refusals);
}

const relativeText = "is relative to now, so each start would move it: write `at …`";
