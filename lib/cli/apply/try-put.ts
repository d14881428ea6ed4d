import { isNotFound, type Json, type Preview, type Schedule } from "../../client/main.ts";
import { timeFields } from "../../client/time-fields.ts";
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
  /** Refuses to replace an existing schedule. */
  create: boolean;
}

interface Outcome {
  changes: FieldChange[];
  /** A relative time starts again with each put, even where nothing else changes. */
  countsAnew: boolean;
  /** Credentials are never read back, so whether new ones differ is not known. */
  credentials: "as they are" | "written";
  holds: string | null;
}

/**
 * Shows the result of a put without doing it, including refusals as far as a preview can find them.
 */
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
      : // Times that the put does not change keep counting from their start; a preview counts from now.
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

/** Fills in every default, because fields that a put leaves out fall back to them. */
function wholeOf(key: string, { key: own, ...body }: Body): WholeBody {
  if (own !== undefined && own !== key)
    throw new WouldBeRefused("refused", "the key in the body is not the key in the path");
  const read = understood(key, body);
  if (read.ok) return read.whole;
  throw new WouldBeRefused("refused", read.faults.join("; "));
}

function refuseUnmet({ key, ifMatch, create }: PutParams, saved: Schedule | null): void {
  if (saved === null) {
    if (ifMatch === undefined) return;
    throw new WouldBeRefused(
      "conflict",
      `the schedule ${key} does not exist, so its version cannot match (412)`,
    );
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

/** The effect on holds, with an "if": only the server knows which hold is the token's own. */
function holdsText(paused: boolean | undefined, saved: Schedule | null): string | null {
  if (paused === undefined) return null;
  const direct = saved?.holds.filter(({ group, tag }) => group === undefined && tag === undefined) ?? [];
  if (paused)
    return direct.length === 0 ? "it gets a hold of your own" : "it gets a hold of your own, if it has none";
  return direct.length === 0 ? null : "your own hold is released, if it has one";
}

function movesTimes({ changes, countsAnew }: Outcome): boolean {
  return countsAnew || changes.some(({ path }) => timeFields.has(path));
}

function verbOf({ changes, countsAnew, credentials, holds }: Outcome, saved: Schedule | null): string {
  if (saved === null) return "Would create";
  if (changes.length > 0 || countsAnew || holds !== null) return "Would change";
  return credentials === "written" ? "Would write the credentials of" : "Would not change";
}

function besides({ countsAnew, credentials, holds }: Outcome, saved: Schedule | null): string[] {
  return [
    ...(countsAnew ? ["when: its time starts again from now"] : []),
    ...(credentials === "written" && saved !== null
      ? ["target: the credentials are written; they cannot be compared with the stored ones"]
      : []),
    ...(holds === null ? [] : [`paused: ${holds}`]),
  ];
}
