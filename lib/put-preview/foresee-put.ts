import { type Carillon, isNotFound, type Preview, type Schedule } from "../client/main.ts";
import { timeFields } from "../client/time-fields.ts";
import { isRelative } from "../schedule/resolve-spec.ts";
import type { ScheduleBody as WholeBody } from "../schedule/shape/schedule-body.ts";
import { type FieldChange, fieldChanges, hasHiddenParts, understood } from "./field-changes.ts";
import { WouldBeRefused } from "./would-be-refused.ts";

type Body = { [name: string]: unknown };

export interface PutParams {
  key: string;
  body: Body;
  ifMatch: number | undefined;
  /** Refuses to replace an existing schedule. */
  create: boolean;
}

export interface PutOutcome {
  changes: FieldChange[];
  /** A relative time starts again with each put, even where nothing else changes. */
  countsAnew: boolean;
  /** Credentials are never read back, so whether new ones differ is not known. */
  credentials: "as they are" | "written";
  holds: string | null;
}

/** The result of a put that was not done. */
export interface ForeseenPut {
  /** Null if the put would create the schedule. */
  saved: Schedule | null;
  outcome: PutOutcome;
  /** The coming runs after the put. */
  times: Preview;
  /** Whether the put would change anything, as far as a preview can see. */
  changes: boolean;
}

/** The runs that a preview of a put lists. */
export const foreseenRuns = 5;

/** Previews a put by reading only. Throws refusals as far as a preview can find them. */
export async function foreseePut(
  client: Carillon,
  params: PutParams,
  signal: AbortSignal,
): Promise<ForeseenPut> {
  const { key, body } = params;
  const { paused: _, ...asked } = body;
  const path = ["v1", "preview"];
  const request = { method: "POST", path, body: { ...asked, key, n: foreseenRuns }, changes: false } as const;
  const [{ body: preview }, saved] = await Promise.all([
    client.request<Preview>({ ...request, options: { signal } }),
    client.schedules.get(key, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      if (error.movedTo === undefined) return null;
      throw new WouldBeRefused("conflict", error.detail.replace(/\.$/, ""));
    }),
  ]);
  const whole = wholeOf(key, body);
  refuseUnmet(params, saved);
  const outcome = outcomeOf(whole, saved);
  const times =
    saved === null || movesTimes(outcome)
      ? preview
      : // Times that the put does not change keep counting from their start; a preview counts from now.
        { ...preview, ...(await client.schedules.next(key, { n: foreseenRuns }, { signal })) };
  return { saved, outcome, times, changes: saved === null || changesAny(outcome) };
}

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

function outcomeOf(whole: WholeBody, saved: Schedule | null): PutOutcome {
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

function movesTimes({ changes, countsAnew }: PutOutcome): boolean {
  return countsAnew || changes.some(({ path }) => timeFields.has(path));
}

function changesAny({ changes, countsAnew, credentials, holds }: PutOutcome): boolean {
  return changes.length > 0 || countsAnew || credentials === "written" || holds !== null;
}

/** Effects of a put on an existing schedule that are no change of a field's value. */
export function besidesFields(
  { countsAnew, credentials, holds }: PutOutcome,
  saved: Schedule | null,
): string[] {
  return [
    ...(countsAnew ? ["when: its time starts again from now"] : []),
    ...(credentials === "written" && saved !== null
      ? ["target: the credentials are written; they cannot be compared with the stored ones"]
      : []),
    ...(holds === null ? [] : [`paused: ${holds}`]),
  ];
}
