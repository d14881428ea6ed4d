import type { JsonObject } from "../found.ts";
import { joined, type Parts } from "../parts.ts";
import { overlapPart } from "./common-parts.ts";
import type { TemporalSchedule } from "./temporal-shapes.ts";

type Policies = TemporalSchedule["schedule"]["policies"];

/** Overlap, catch-up and the pause after a failure. */
export function temporalPolicies(
  { policies }: TemporalSchedule["schedule"],
  target: JsonObject,
): Partial<Parts> {
  return joined(overlapOf(policies, target), catchUpPart(policies), {
    body: policies.pauseOnFailure ? { holdAfter: 1 } : {},
    differences: policies.pauseOnFailure
      ? [
          "pauseOnFailure is `holdAfter` 1: a dead job holds the schedule, so the target has to answer with the workflow's failure",
        ]
      : [],
  });
}

/** The policies by their number in protobuf. */
const policyNames = ["", "SKIP", "BUFFER_ONE", "BUFFER_ALL", "CANCEL_OTHER", "TERMINATE_OTHER", "ALLOW_ALL"];

/** `SCHEDULE_OVERLAP_POLICY_BUFFER_ONE`, `BufferOne` and 2 are the same. */
function policyName(policy: string | number | undefined): string {
  const text = typeof policy === "number" ? (policyNames[policy] ?? String(policy)) : (policy ?? "");
  return text
    .replace(/^SCHEDULE_OVERLAP_POLICY_/, "")
    .replaceAll("_", "")
    .toLowerCase();
}

function overlapOf({ overlapPolicy }: Policies, target: JsonObject): Partial<Parts> {
  switch (policyName(overlapPolicy)) {
    case "":
    case "unspecified":
    case "skip":
      return overlapPart("skip", "overlap policy Skip: `overlap` skips a run while one is not done", target);
    case "bufferone":
      return overlapPart(
        "queue",
        "overlap policy BufferOne: Temporal lets one run wait; `overlap` lets all of them wait, in order",
        target,
      );
    case "bufferall":
      return overlapPart("queue", "overlap policy BufferAll: `overlap` lets runs wait, in order", target);
    case "allowall":
      return { body: { overlap: "allow" } };
    case "cancelother":
    case "terminateother":
      return overlapPart(
        "skip",
        "overlap policy CancelOther or TerminateOther: Temporal ends the running workflow for the new one; Carillon ends no job for another, and `overlap` skips the new one",
        target,
      );
    default:
      return { faults: [`its overlap policy ${JSON.stringify(overlapPolicy)} is not known`] };
  }
}

const daySeconds = 86_400;
const catchUp = { byDefault: 365 * daySeconds, longest: 366 * daySeconds, runsMax: 10_000 };

function catchUpPart({ catchupWindow = catchUp.byDefault }: Policies): Partial<Parts> {
  // A window of zero is the default in the JSON of protobuf.
  const window = catchupWindow === 0 ? catchUp.byDefault : catchupWindow;
  const within = Math.max(1, Math.floor(Math.min(window, catchUp.longest)));
  return {
    body: { catchUp: { policy: "all", within: `${within}s`, limit: catchUp.runsMax } },
    differences: [
      `catchupWindow: Temporal makes up for all missed runs of the last ${within} s, and so does \`catchUp\`, up to ${catchUp.runsMax}`,
    ],
  };
}
