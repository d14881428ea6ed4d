import { formatDuration } from "../cadence/duration.ts";
import { type Contribution, largestOf } from "./contributors.ts";
import type { PlannedGroup } from "./planned-group.ts";
import type { Flattened } from "./spread.ts";
import { type Minute, ruleOf } from "./unfold-minutes.ts";

/** The kind of a part: `made` are jobs that exist already, with retries and jobs fired by hand. */
export type FireKind = "cron" | "interval" | "once" | "release" | "made";

export interface HeavyPart {
  kind: FireKind;
  when: string | null;
  timezone: string | null;
  /** The owner of the holds that end, for a release. */
  owner: string | null;
  fires: number;
}

export interface HeavyMinute {
  at: Date;
  fires: number;
  /** The largest parts, and the fires of all others. */
  most: HeavyPart[];
  other: number;
  /** The largest contributors, where they were asked for. */
  by: Contribution[];
}

const mostMax = 10;
const namesMax = 5;

/** A rule that names the jobs that are made already. */
export const madeRule = "made";

type Named = Omit<HeavyPart, "fires">;

/** The words of each rule. */
export function ruleNames(groups: readonly PlannedGroup[]): Map<string, Named> {
  const names = new Map<string, Named>([[madeRule, unnamed("made")]]);
  for (const group of groups) {
    const rule = ruleOf(group);
    if (!names.has(rule)) names.set(rule, named(group));
  }
  return names;
}

const unnamed = (kind: FireKind): Named => ({ kind, when: null, timezone: null, owner: null });

function named({ cadence, everyMs, isInterval, release }: PlannedGroup): Named {
  if (release !== null) return { ...unnamed("release"), owner: release.owner };
  if (everyMs !== null) return { ...unnamed("interval"), when: `every ${formatDuration(everyMs)}` };
  if (cadence === null) return unnamed(isInterval ? "interval" : "once");
  return { ...unnamed("cron"), when: cadence.expression, timezone: cadence.timezone };
}

export function heavyMinute(
  minute: Minute,
  names: ReadonlyMap<string, Named>,
  contributing: Minute | undefined,
): HeavyMinute {
  const parts = partsOf(minute, names);
  const most = parts.slice(0, mostMax);
  return {
    at: new Date(minute.at),
    fires: minute.fires,
    most,
    other: Math.max(0, minute.fires - most.reduce((sum, { fires }) => sum + fires, 0)),
    by: contributing === undefined ? [] : largestOf([contributing], namesMax),
  };
}

function partsOf({ shares }: Minute, names: ReadonlyMap<string, Named>): HeavyPart[] {
  return [...shares]
    .toSorted(([, one], [, other]) => other - one)
    .map(([rule, fires]) => ({ ...(names.get(rule) ?? unnamed("once")), fires: Math.round(fires) }))
    .filter(({ fires }) => fires > 0);
}

export interface Suggestion {
  peak: number;
  average: number;
  withSpread: Flattened[];
  text: string;
}

/** A spread is suggested if it reduces the heaviest minute by at least a fifth. */
const worthIt = 0.8;

/** A shorter spread is as good as the best one if it leaves at most a fifth more. */
const asGood = 1.2;

/** `withSpread` has the shortest spread first. */
export function suggestionOf(
  line: readonly Minute[],
  withSpread: Flattened[],
  { names, isExact }: { names: ReadonlyMap<string, Named>; isExact: boolean },
): Suggestion {
  const heaviest = line.toSorted((one, other) => other.fires - one.fires)[0];
  const peak = heaviest?.fires ?? 0;
  const average = Math.round(line.reduce((sum, { fires }) => sum + fires, 0) / line.length);
  if (peak === 0) return { peak, average, withSpread, text: "No run is planned in this time." };
  const text = (count: number) => `${isExact ? "" : "about "}${grouped.format(count)}`;
  const known = `The heaviest minute has ${text(peak)} ${peak === 1 ? "run" : "runs"}, an average minute ${text(average)}.`;
  const effect = effectText(withSpread, peak, text);
  return { peak, average, withSpread, text: [known, effect, ...unspreadable(heaviest, names)].join(" ") };
}

/** The shortest spread that is worth it and nearly the best, and what the others would give. */
function effectText(withSpread: readonly Flattened[], peak: number, text: (count: number) => string): string {
  const least = Math.min(...withSpread.map((each) => each.peak));
  const best = withSpread.find((each) => each.peak === least);
  if (best === undefined || least >= peak) return "No spread would flatten it.";
  if (least > peak * worthIt)
    return `A spread would change little: with ${best.spread} it would still have ${text(least)}.`;
  const chosen = withSpread.find((each) => each.peak <= least * asGood) ?? best;
  const others = withSpread
    .filter((each) => each !== chosen)
    .map(
      (each, place) =>
        `${place === 0 ? `With ${each.spread} it would be` : `with ${each.spread}`} ${text(each.peak)}`,
    );
  const effect = `A spread of ${chosen.spread} on schedules that run together would lower it to ${text(chosen.peak)}.`;
  return others.length === 0 ? effect : `${effect} ${others.join(", ")}.`;
}

const grouped = new Intl.NumberFormat("en-GB");

/** A part of this share is named although a spread does not move it. */
const namedFrom = 0.1;

/** The parts of the heaviest minute that no spread moves. */
function unspreadable(heaviest: Minute | undefined, names: ReadonlyMap<string, Named>): string[] {
  if (heaviest === undefined || heaviest.fires === 0) return [];
  return partsOf(heaviest, names).flatMap(({ kind, owner, fires }) => {
    if (kind !== "release" || fires < heaviest.fires * namedFrom) return [];
    const of = owner === null ? "" : ` of ${owner}`;
    return `${grouped.format(fires)} of its runs start when holds${of} end: a spread does not move them. Let these holds end at different times.`;
  });
}
