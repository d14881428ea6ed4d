import { afterEach, expect, test } from "vitest";
import { scanZone } from "../cadence/minute-scan.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";

/**
 * How long no tick runs, from just before the clocks go forward in Berlin. The longest also covers
 * a change of clocks on Lord Howe. After it, a tick runs each minute.
 */
const outages = [
  { name: "3 minutes", length: 3 * minute },
  { name: "6 hours", length: 6 * hour },
  { name: "30 days", length: 30 * day },
];

const zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"];
const whens = ["30 2 * * *", "*/15 0-3 * * *", "0 0 1 * *"];
const policies = {
  latest: {},
  skip: { catchUp: { policy: "skip" } },
  all: { catchUp: { policy: "all", limit: 10_000 } },
  some: { catchUp: { policy: "all", limit: 7 } },
  recent: { catchUp: { policy: "all", limit: 10_000, within: "3h" } },
};

const missedAfter = 2 * minute;
/** A minute before two in the morning in Berlin, on the day on which its clocks go forward. */
const darkness = Date.parse("2026-03-29T00:59:00Z");

let world: Carillon;
afterEach(() => world.stop());

interface Scheduled {
  key: string;
  timezone: string;
  when: string;
  policy: keyof typeof policies;
}

interface Outcomes {
  ran: number[];
  passed: number[];
}

const schedules: Scheduled[] = zones.flatMap((timezone) =>
  whens.flatMap((when) =>
    (["latest", "skip", "all", "some", "recent"] as const).map((policy) => ({
      key: `${timezone} ${when} ${policy}`.replaceAll("/", "|"),
      timezone,
      when,
      policy,
    })),
  ),
);

test.each(outages)(
  "After $name without a tick each catch-up policy runs what it promises, and the ledger has everything else",
  async ({ length }) => {
    world = await carillon({ start: new Date(darkness - hour).toISOString() });
    await world.tick();
    for (const { key, timezone, when, policy } of schedules)
      await world.put(key, { timezone, when, ...policies[policy] });
    await minutes(darkness - hour, darkness);
    const light = darkness + length;
    await minutes(light, light + 12 * minute);
    const outcomesOf = await readOutcomes();
    for (const schedule of schedules) {
      const all = occurrencesOf(schedule, darkness, light + 11 * minute);
      expect({ key: schedule.key, ...outcomesOf(schedule) }).toEqual({
        key: schedule.key,
        ...expected(all, schedule.policy, light),
      });
    }
  },
  240_000,
);

const scanned = new Map<string, number[]>();

/**
 * The occurrences of a schedule, found by the wall clock of its zone; computed once for all
 * policies.
 */
function occurrencesOf({ timezone, when }: Scheduled, from: number, upTo: number): number[] {
  const name = `${timezone} ${when} ${from} ${upTo}`;
  const known = scanned.get(name) ?? scanZone(when, timezone, { from, upTo });
  scanned.set(name, known);
  return known;
}

/** A tick each minute, as the EventBridge rule starts it, with the workers at work. */
async function minutes(from: number, to: number): Promise<void> {
  for (let now = from; now <= to; now += minute) {
    await world.clock.setNow(new Date(now));
    await world.tick();
    await world.work();
  }
}

/**
 * The outcome by the policies as documented: occurrences planned in time or at most two minutes
 * late run, and the policy chooses among the rest.
 */
function expected(all: readonly number[], policy: keyof typeof policies, light: number): Outcomes {
  // The last tick before the outage planned three minutes ahead.
  const inTime = (at: number) => at <= darkness + 3 * minute || at >= light - missedAfter;
  const missed = all.filter((at) => !inTime(at));
  const chosen: readonly number[] = {
    latest: missed.slice(-1),
    skip: [],
    all: missed,
    some: missed.slice(-7),
    recent: missed.filter((at) => at >= light - 3 * hour),
  }[policy];
  return {
    ran: all.filter((at) => inTime(at) || chosen.includes(at)),
    passed: missed.filter((at) => !chosen.includes(at)),
  };
}

/**
 * The outcome of each schedule's occurrences since the outage began; a range counts for all of its
 * occurrences.
 */
async function readOutcomes(): Promise<(schedule: Scheduled) => Outcomes> {
  const jobs = await world.sql<{ key: string; at: Date; state: string }[]>`
    select s.key, j.occurrence as at, j.state from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
    where j.occurrence > ${new Date(darkness)} and j.due_at <= carillon.clock() - interval '1 minute' order by j.occurrence`;
  const ranges = await world.sql<{ key: string; from: Date; to: Date; count: number; reason: string }[]>`
    select s.key, p.from_at as from, p.to_at as to, p.count::int, p.reason
    from carillon.passed_over p join carillon.schedules s on s.id = p.schedule_id`;
  expect(jobs.filter(({ state }) => state !== "succeeded" && state !== "skipped")).toEqual([]);
  expect(ranges.filter(({ reason }) => reason !== "missed")).toEqual([]);
  return (schedule) => {
    const instants = (state: string) =>
      jobs.filter((job) => job.key === schedule.key && job.state === state).map(({ at }) => at.getTime());
    const ranged = ranges
      .filter(({ key }) => key === schedule.key)
      .flatMap(({ from, to, count }) => {
        const within = occurrencesOf(schedule, from.getTime() - 1, to.getTime());
        expect(within).toHaveLength(count);
        return within;
      });
    return {
      ran: instants("succeeded"),
      passed: [...instants("skipped"), ...ranged].sort((a, b) => a - b),
    };
  };
}
