import type { Mutant } from "../mutant.ts";

const standing = "lib/stats/standing.ts";
const lateness = "lib/stats/lateness.ts";

const endedTest = "test/stats/ended-holds.test.ts";
const standingTest = "test/stats/standing.test.ts";
const latenessTest = "test/stats/lateness.test.ts";

/** The figures that show an engineer on call that a part stands still, or is late. */
export const statsRows: readonly Mutant[] = [
  {
    name: "stats: a hold that has ended counts no more",
    file: "lib/stats/stats.ts",
    text: "c.held + t.held - e.ended",
    replacement: "c.held + t.held",
    tests: [endedTest],
  },
  {
    name: "stats: a count of paused schedules goes past holds that have ended",
    file: "lib/history/search-schedules.ts",
    text: "covered: isCovered(access, named) && held !== true,",
    replacement: "covered: isCovered(access, named),",
    tests: [endedTest],
  },
  {
    name: "stats: the plan's progress is that of its slowest shard",
    file: standing,
    text: "(select min(watermark_at) from carillon.shards)",
    replacement: "(select max(watermark_at) from carillon.shards)",
    tests: [standingTest],
  },
  {
    name: "stats: a running job is not due",
    file: standing,
    text: "min(p.since) filter (where not p.leased and p.since <= p.now)",
    replacement: "min(p.since) filter (where p.since <= p.now)",
    tests: [standingTest],
  },
  {
    name: "stats: a running parcel is not due when jobs are not read",
    file: standing,
    text: "min(since) filter (where not leased and since <= now and jobs > 0)",
    replacement: "min(since) filter (where since <= now and jobs > 0)",
    tests: [standingTest],
  },
  {
    name: "stats: a job that waits for a turn is due since its ready time",
    file: standing,
    text: "case when p.turn = 'waits' then p.turn_at - coalesce(p.priority, 0) * interval '10 minutes' else p.ready_at end as since",
    replacement: "p.ready_at as since",
    tests: [standingTest],
  },
  {
    name: "stats: priority makes no job later",
    file: standing,
    text: "p.turn_at - coalesce(p.priority, 0) * interval '10 minutes'",
    replacement: "p.turn_at",
    tests: [standingTest],
  },
  {
    name: "stats: a held job is counted",
    file: standing,
    text: "count(*) filter (where p.held)::int as held,",
    replacement: "0 as held,",
    tests: [standingTest],
  },
  {
    name: "stats: the backlog is counted",
    file: standing,
    text: "coalesce(sum(owing), 0)::float8 as owing, count(*)::int as rows",
    replacement: "count(*)::float8 as owing, count(*)::int as rows",
    tests: [standingTest],
  },
  {
    name: "stats: percentiles cover all jobs",
    file: lateness,
    text: "if (below >= share * jobs) return",
    replacement: "if (below > share * jobs) return",
    tests: [latenessTest],
  },
  {
    name: "stats: buckets of lateness are read from the earliest on",
    file: lateness,
    text: ".toSorted((one, other) => one.bucket - other.bucket)",
    replacement: "",
    tests: [latenessTest],
  },
  {
    name: "stats: schedules are counted before a tick has rolled them up",
    file: "lib/stats/stats.ts",
    text: "greatest(c.schedules + t.schedules, 0)::float8 as total",
    replacement: "greatest(c.schedules, 0)::float8 as total",
    tests: ["test/stats/schedule-counts.test.ts"],
  },
  {
    name: "stats: a plan that is ahead has no lag",
    file: "lib/api/routes/stats-routes.ts",
    text: "lagMs: Math.max(0, now.getTime() - standing.plannedTo.getTime()),",
    replacement: "lagMs: now.getTime() - standing.plannedTo.getTime(),",
    tests: ["test/api/stats.test.ts"],
  },
  {
    name: "stats: sums below zero are shown as zero",
    file: "lib/stats/stats.ts",
    text: "greatest(coalesce(sum(${sql(column)}), 0), 0)::float8",
    replacement: "coalesce(sum(${sql(column)}), 0)::float8",
    tests: ["test/poison/tally.test.ts"],
  },
  {
    name: "stats: no more schedules are held than there are",
    file: "lib/stats/stats.ts",
    text: "active: Math.max(0, total - paused), paused",
    replacement: "active: total - paused, paused",
    tests: ["test/poison/tally.test.ts"],
  },
];
