import { isDeepStrictEqual } from "node:util";
import { normalForm } from "../cadence/normal-form.ts";
import type { DescribedOccurrence } from "../cadence/occurrence-notes.ts";
import { isoInstant } from "../cadence/zone/civil.ts";
import { listText } from "../cadence/zone/wall-text.ts";
import type { JobRead } from "../job/read-job.ts";
import { editText } from "./actor.ts";
import { indexAt, type Nearest, type Place, placeOf } from "./place.ts";
import { instantText, quote } from "./quoted.ts";
import type { Facts, Verdict, VersionFact } from "./verdict.ts";

/** Explains an instant that is not an occurrence of the version in force then. */
export function explainElsewhere(
  facts: Facts,
  version: VersionFact,
  place: Place,
  nearest: Nearest,
): Verdict {
  switch (place.kind) {
    case "before-start":
      return (
        firedVerdict(facts) ?? {
          outcome: "before-start",
          sentence: `Is no occurrence: the schedule starts at ${isoInstant(place.startsAt)} (\`startsAt\`).`,
        }
      );
    case "after-end":
      return (
        firedVerdict(facts) ?? {
          outcome: "after-end",
          reason: "endsAt",
          sentence: `Is no occurrence: the schedule ${place.endsAt <= facts.now ? "ended" : "ends"} at ${isoInstant(place.endsAt)} (\`endsAt\`).`,
        }
      );
    case "moved":
      return movedVerdict(place);
    default:
      return withdrawnVerdict(facts) ?? firedVerdict(facts) ?? strangerVerdict(facts, version, nearest);
  }
}

function movedVerdict({ to, calendar }: Extract<Place, { kind: "moved" }>): Verdict {
  const { name, day, entry } = calendar;
  const by = `the calendar ${name} leaves out ${day}${entry === null || entry === day ? "" : ` by its entry ${entry}`}`;
  const where = to === null ? "and no free day is near enough" : `and moves it to ${isoInstant(to)}`;
  return {
    outcome: "moved",
    sentence: `Does not run then: ${by}, ${where}.`,
    calendar,
    movedTo: to === null ? null : new Date(to),
  };
}

/**
 * Explains an instant that was an occurrence of an earlier version. The version after the newest
 * such one has withdrawn it. Null if there is none.
 */
function withdrawnVerdict({ versions, at, now }: Facts): Verdict | null {
  for (let index = indexAt(versions, at); index > 0; index--) {
    const next = versions[index];
    const earlier = versions[index - 1];
    if (next === undefined || earlier === undefined || placeOf(earlier, at).kind !== "run") continue;
    const by = `${editText(next)} at ${isoInstant(next.at)}, before it was due`;
    return {
      outcome: "withdrawn",
      sentence: `${at > now ? "Is" : "Was"} no longer an occurrence: the schedule was ${by}, ${changeText(earlier, next)}.`,
      edit: editOf(next),
    };
  }
  return null;
}

/** Fields beside `when` and `timezone` that decide when a schedule runs. */
const bounding = ["startsAt", "endsAt", "calendar", "dst"] as const;

function changeText(earlier: VersionFact, next: VersionFact): string {
  const was = `\`${normalForm(earlier.cadence)}\` in ${earlier.body.timezone}`;
  const is = `\`${normalForm(next.cadence)}\` in ${next.body.timezone}`;
  if (was !== is) return `from ${was} to ${is}`;
  const changed = bounding.filter((name) => !isDeepStrictEqual(earlier.body[name], next.body[name]));
  if (changed.length > 0) return `which changed ${listText(changed.map((name) => `\`${name}\``))}`;
  if (next.change === "replanned") return "because its calendar or zone had changed";
  return `which restarted its timing (${is})`;
}

/** Explains an instant that is no occurrence, but has a job of another kind. */
export function firedVerdict({ beside, at }: Facts): Verdict | null {
  const [job, ...others] = beside;
  if (job === undefined) return null;
  // Backfills and rechecks of the instant have sentences of their own.
  const more = others
    .filter(({ kind }) => kind === "manual")
    .map((other) => ` Another manual job ${stateText(other)}.`)
    .join("");
  return {
    outcome: "fired",
    sentence: `Is no occurrence: at ${isoInstant(at)} a ${job.kind} job was made outside the cadence; it ${stateText(job)}.${more}`,
  };
}

/** The state behind `it`: `has succeeded`, `is dead (attempts) after "no route"`. */
function stateText({ state, reason, error, readyAt }: JobRead): string {
  if (state === "succeeded") return "has succeeded";
  const said = `is ${state}${reason === null ? "" : ` (${reason})`}`;
  if (error === null || (state !== "retrying" && state !== "dead")) return said;
  const next = state === "dead" || readyAt === null ? "" : `, and starts again at ${instantText(readyAt)}`;
  return `${said} after ${quote(error)}${next}`;
}

function strangerVerdict({ at }: Facts, version: VersionFact, { before, after }: Nearest): Verdict {
  const cadence = `\`${normalForm(version.cadence)}\` in ${version.body.timezone}`;
  const notes = [before, after].flatMap((each) => clockNote(each, at));
  const why = notes.length === 0 ? "" : ` (${[...new Set(notes)].join("; ")})`;
  return {
    outcome: "not-an-occurrence",
    sentence: `Is not an occurrence of ${cadence} (version ${version.version})${nearText(before, after)}${why}.`,
  };
}

function nearText(before: DescribedOccurrence | null, after: DescribedOccurrence | null): string {
  if (before === null && after === null) return ", which has none around it";
  if (before === null) return `; the next is ${isoInstant(after?.at ?? 0)}`;
  if (after === null) return `; the last is ${isoInstant(before.at)}`;
  return `; the nearest are ${isoInstant(before.at)} before it and ${isoInstant(after.at)} after it`;
}

/**
 * Notes about clocks and calendars within this distance may explain why the instant is no
 * occurrence.
 */
const nearMs = 36 * 3_600_000;

function clockNote(nearest: DescribedOccurrence | null, at: number): string[] {
  if (nearest === null || nearest.note === null || Math.abs(nearest.at - at) > nearMs) return [];
  return [nearest.note];
}

export function editOf({ version, change, by, at }: VersionFact): NonNullable<Verdict["edit"]> {
  return { version, change, by, at: new Date(at) };
}
