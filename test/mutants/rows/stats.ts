import type { Mutant } from "../mutant.ts";

const standing = "lib/stats/standing.ts";
const lateness = "lib/stats/lateness.ts";
const seriesTest = "test/stats/series.test.ts";

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
    file: "lib/api/views/stats-view.ts",
    text: "lagMs: Math.max(0, now.getTime() - plannedTo.getTime()),",
    replacement: "lagMs: now.getTime() - plannedTo.getTime(),",
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
    text: "active: Math.max(0, total - paused - ended), paused",
    replacement: "active: total - paused - ended, paused",
    tests: ["test/poison/tally.test.ts"],
  },
  {
    name: "stats: the board of holds has only holds of the prefix",
    file: "lib/api/routes/hold-routes.ts",
    text: "const filter = { ...asked, ...within };",
    replacement: "const filter = asked;",
    tests: ["test/api/holds.test.ts"],
  },
  {
    name: "stats: a hold of more keys than the token reaches is shown without its members",
    file: "lib/api/views/hold-shape.ts",
    text: "members: isForeign ? null : members,",
    replacement: "members,",
    tests: ["test/api/holds.test.ts"],
  },
  {
    name: "stats: a forecast has only schedules of the prefix",
    file: "lib/api/routes/forecast-routes.ts",
    text: "const within = narrowedOrRefused(token, prefix);",
    replacement: "const within = prefix;",
    tests: ["test/api/stats.test.ts"],
  },
  {
    name: "series: a token with a prefix gets its own keys",
    file: "lib/api/routes/series-routes.ts",
    text: "prefix: narrowedOrRefused(token, asked.prefix)",
    replacement: "prefix: asked.prefix",
    tests: ["test/api/series.test.ts"],
  },
  {
    name: "series: a step that a page did not read to its end is left to the next page",
    file: "lib/stats/series.ts",
    text: "from: rest?.to ?? range.from,",
    replacement: "from: range.from,",
    tests: [seriesTest],
  },
  {
    name: "series: the counts of a step that is cut by a page are carried on",
    file: "lib/stats/series.ts",
    text: "addOutcomes(outcomesAt(steps, range.to - stepMs), inside.sofar);",
    replacement: "outcomesAt(steps, range.to - stepMs);",
    tests: [seriesTest],
  },
  {
    name: "series: jobs of other kinds than cadence are looked up too",
    file: "lib/stats/ledger-probes.ts",
    text: "const keys = [...cadenceKeys(own, part, most), ...(await otherKeys(tx, ids, part, most))];",
    replacement: "const keys = cadenceKeys(own, part, most);",
    tests: ["test/api/series.test.ts"],
  },
  {
    name: "claim_parcel: a claim without a job is counted",
    file: "lib/parcel/sql/claim_parcel.sql",
    text: "perform case v_parcel.queue when 'fast' then nextval('carillon.fast_empty_claims') else nextval('carillon.slow_empty_claims') end;",
    replacement: "",
    tests: ["test/tick/outages.test.ts"],
  },
  {
    name: "note_tick: an outage begins after the last claim without a job",
    file: "lib/stats/sql/note_tick.sql",
    text: "v_since := greatest(v_since, v_emptied,",
    replacement: "v_since := greatest(v_since,",
    tests: ["test/tick/outages.test.ts"],
  },
  {
    name: "note_tick: a claim without a job ends an outage",
    file: "lib/stats/sql/note_tick.sql",
    text: "case when v_emptied > v_open then v_emptied end",
    replacement: "null",
    tests: ["test/tick/outages.test.ts"],
  },
];
