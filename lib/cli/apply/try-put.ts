import { isNotFound, type Json, type Preview, type Schedule } from "../../client/main.ts";
import { isRelative } from "../../schedule/resolve-spec.ts";
import type { ScheduleBody as WholeBody } from "../../schedule/shape/schedule-body.ts";
import type { Call } from "../command.ts";
import { WouldBeRefused } from "../fault.ts";
import { showOccurrences } from "../output/shown-times.ts";
import { printable } from "../output/style.ts";
import { type FieldChange, fieldChanges, hasHiddenParts, understood } from "./apply-compare.ts";

type Body = { [name: string]: Json };

export interface PutParams {
  key: string;
  body: Body;
  ifMatch: number | undefined;
  /** Only if there is none yet. */
  create: boolean;
}

/** What a put would come to. */
interface Outcome {
  changes: FieldChange[];
  /** A relative time counts from the put, even where nothing else changes. */
  countsAnew: boolean;
  /** Credentials are never read back: whether new ones are those that stand is not told. */
  credentials: "as they are" | "written";
  holds: string | null;
}

/** What a put would come to: refused as it would be, as far as that can be told without doing it. */
export async function tryPut(call: Call, params: PutParams): Promise<void> {
  const { client, out, signal } = call;
  const { key, body } = params;
  const { paused: _, ...asked } = body;
  const path = ["v1", "preview"];
  const request = { method: "POST", path, body: { ...asked, key, n: shown }, changes: false } as const;
  const [{ body: preview }, saved] = await Promise.all([
    client.request<Preview>({ ...request, options: { signal } }),
    client.schedules.get(key, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return null;
      throw error;
    }),
  ]);
  const whole = wholeOf(key, body);
  refuseUnmet(params, saved);
  const outcome = outcomeOf(whole, saved);
  const times =
    saved === null || movesTimes(outcome)
      ? preview
      : // What is not touched goes on as it was counted; a preview would count it from now.
        { ...preview, ...(await client.schedules.next(key, { n: shown }, { signal })) };
  if (out.isJson) {
    const { holds, ...others } = outcome;
    const noted = holds === null ? others : { ...others, holds };
    out.json({ dryRun: true, key, creates: saved === null, ...noted, ...times });
    return;
  }
  out.line(`${verbOf(outcome, saved)} ${printable(key)}: ${printable(times.cadenceText)}`);
  for (const { path: name, before, after } of outcome.changes)
    out.line(`  ${name}: ${printable(JSON.stringify(before))} → ${printable(JSON.stringify(after))}`);
  for (const line of besides(outcome, saved)) out.line(`  ${line}`);
  showOccurrences(out, times);
}

const shown = 5;

/** Every default filled in, since what is left out of a put falls back to it. */
function wholeOf(key: string, { key: own, ...body }: Body): WholeBody {
  if (own !== undefined && own !== key) throw new WouldBeRefused("refused", "key is not the key in the path");
  const read = understood(key, body);
  if (read.ok) return read.whole;
  throw new WouldBeRefused("refused", read.faults.join("; "));
}

function refuseUnmet({ key, ifMatch, create }: PutParams, saved: Schedule | null): void {
  if (saved === null) {
    if (ifMatch === undefined) return;
    throw new WouldBeRefused("conflict", `there is no schedule ${key} that could match (412)`);
  }
  if (ifMatch !== undefined && ifMatch !== saved.version)
    throw new WouldBeRefused("conflict", `the schedule ${key} is at version ${saved.version} (412)`);
  if (create) throw new WouldBeRefused("conflict", `the schedule ${key} exists already (412)`);
}

function outcomeOf(whole: WholeBody, saved: Schedule | null): Outcome {
  return {
    changes: saved === null ? [] : fieldChanges(whole, saved),
    countsAnew: saved !== null && isRelative(whole),
    credentials: hasHiddenParts(whole) ? "written" : "as they are",
    holds: holdsText(whole.paused, saved),
  };
}

/** Whose a hold is, the server alone tells from the token. */
function holdsText(paused: boolean | undefined, saved: Schedule | null): string | null {
  if (paused === undefined) return null;
  const direct = saved?.holds.filter(({ group, tag }) => group === undefined && tag === undefined) ?? [];
  if (paused)
    return direct.length === 0 ? "it gets a hold of your own" : "it gets a hold of your own, if it has none";
  return direct.length === 0 ? null : "your own hold is let go of, if it has one";
}

const ofTimes = new Set([
  "when",
  "timezone",
  "startsAt",
  "endsAt",
  "maxFires",
  "calendar",
  "spread",
  "slot",
  "dst",
]);

function movesTimes({ changes, countsAnew }: Outcome): boolean {
  return countsAnew || changes.some(({ path }) => ofTimes.has(path));
}

function verbOf({ changes, countsAnew, credentials, holds }: Outcome, saved: Schedule | null): string {
  if (saved === null) return "Would create";
  if (changes.length > 0 || countsAnew || holds !== null) return "Would change";
  return credentials === "written" ? "Would write the credentials of" : "Would leave as it is";
}

function besides({ countsAnew, credentials, holds }: Outcome, saved: Schedule | null): string[] {
  return [
    ...(countsAnew ? ["when: counts from now, anew"] : []),
    ...(credentials === "written" && saved !== null
      ? ["target: the credentials are written; whether they are those that stand cannot be told"]
      : []),
    ...(holds === null ? [] : [`paused: ${holds}`]),
  ];
}
