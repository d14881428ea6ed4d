import { isDeepStrictEqual } from "node:util";
import { normalForm } from "../cadence/normal-form.ts";
import type { DescribedOccurrence } from "../cadence/occurrence-notes.ts";
import { isoInstant } from "../cadence/zone/civil.ts";
import { listText } from "../cadence/zone/wall-text.ts";
import { indexAt, type Nearest, type Place, placeOf } from "./place.ts";
import type { Facts, Verdict, VersionFact } from "./verdict.ts";

/** What is to be said of an instant that is no occurrence of the version of its time. */
export function explainElsewhere(
  facts: Facts,
  version: VersionFact,
  place: Place,
  nearest: Nearest,
): Verdict {
  switch (place.kind) {
    case "before-start":
      return {
        outcome: "before-start",
        sentence: `Is no occurrence: the schedule starts at ${isoInstant(place.startsAt)} (\`startsAt\`).`,
      };
    case "after-end":
      return {
        outcome: "after-end",
        reason: "endsAt",
        sentence: `Is no occurrence: the schedule ${place.endsAt <= facts.now ? "ended" : "ends"} at ${isoInstant(place.endsAt)} (\`endsAt\`).`,
      };
    case "moved":
      return movedVerdict(place);
    default:
      return withdrawnVerdict(facts) ?? firedVerdict(facts) ?? strangerVerdict(facts, version, nearest);
  }
}

function movedVerdict({ to, calendar }: Extract<Place, { kind: "moved" }>): Verdict {
  const { name, day, entry } = calendar;
  const by = `the calendar ${name} leaves out ${day}${entry === null || entry === day ? "" : ` by its entry ${entry}`}`;
  const where =
    to === null ? "and no day near enough is free: it does not run" : `and moves it to ${isoInstant(to)}`;
  return {
    outcome: "moved",
    sentence: `Is not run then: ${by}, ${where}.`,
    calendar,
    movedTo: to === null ? null : new Date(to),
  };
}

/** The newest earlier version of which it was an occurrence: the one after it took it away. */
function withdrawnVerdict({ versions, at, now }: Facts): Verdict | null {
  for (let index = indexAt(versions, at); index > 0; index--) {
    const next = versions[index];
    const earlier = versions[index - 1];
    if (next === undefined || earlier === undefined || placeOf(earlier, at).kind !== "run") continue;
    const by = `at ${isoInstant(next.at)}, before it was due, version ${next.version} of ${next.by}`;
    return {
      outcome: "withdrawn",
      sentence: `${at > now ? "Is" : "Was"} an occurrence no more: ${by} ${changeText(earlier, next)}.`,
      edit: editOf(next),
    };
  }
  return null;
}

/** What beside the `when` and its zone says when a schedule runs. */
const bounding = ["startsAt", "endsAt", "calendar", "dst"] as const;

function changeText(earlier: VersionFact, next: VersionFact): string {
  const was = `\`${normalForm(earlier.cadence)}\` in ${earlier.body.timezone}`;
  const is = `\`${normalForm(next.cadence)}\` in ${next.body.timezone}`;
  if (was !== is) return `changed it from ${was} to ${is}`;
  const changed = bounding.filter((name) => !isDeepStrictEqual(earlier.body[name], next.body[name]));
  if (changed.length > 0) return `changed its ${listText(changed.map((name) => `\`${name}\``))}`;
  if (next.change === "replanned")
    return "planned it anew by the rules of its calendar or zone, which had changed";
  return `made it count anew (${is})`;
}

function firedVerdict({ beside, at }: Facts): Verdict | null {
  const [job] = beside;
  if (job === undefined) return null;
  return {
    outcome: "fired",
    sentence: `Is no occurrence: at ${isoInstant(at)} a ${job.kind} job was made beside the cadence; it is ${job.state}.`,
  };
}

function strangerVerdict({ at }: Facts, version: VersionFact, { before, after }: Nearest): Verdict {
  const cadence = `version ${version.version}, \`${normalForm(version.cadence)}\` in ${version.body.timezone}`;
  const near = [
    before === null ? "none before it" : `${isoInstant(before.at)} before it`,
    after === null ? "none after it" : `${isoInstant(after.at)} after it`,
  ];
  const notes = [before, after].flatMap((each) => clockNote(each, at));
  const why = notes.length === 0 ? "" : ` (${[...new Set(notes)].join("; ")})`;
  return {
    outcome: "not-an-occurrence",
    sentence: `Is not an occurrence of its time's ${cadence}; the nearest are ${near.join(" and ")}${why}.`,
  };
}

/** What clocks and calendars did within a day explains why nothing is here. */
const nearMs = 36 * 3_600_000;

function clockNote(nearest: DescribedOccurrence | null, at: number): string[] {
  if (nearest === null || nearest.note === null || Math.abs(nearest.at - at) > nearMs) return [];
  return [nearest.note];
}

export function editOf({ version, change, by, at }: VersionFact): NonNullable<Verdict["edit"]> {
  return { version, change, by, at: new Date(at) };
}
