import type { Mutant } from "../mutant.ts";

const batch = "lib/tick/shard-batch.ts";
const days = "lib/tick/days.ts";
const idle = "lib/tick/idle-shards.ts";
const ahead = "lib/tick/look-ahead.ts";
const house = "lib/tick/keep-house.ts";
const tick = "lib/tick/tick.ts";

/** Firing shards, raising watermarks, and bringing far rows near. */
export const ticks: readonly Mutant[] = [
  {
    name: "a batch never plans past the near line",
    file: batch,
    text: "state.nearUntil.getTime() - 1));",
    replacement: "state.nearUntil.getTime() + 1));",
    tests: ["test/tick/days.test.ts", "test/tick/near-line.test.ts"],
  },
  {
    name: "a batch stops at the instant before the near line",
    file: batch,
    text: "state.nearUntil.getTime() - 1));",
    replacement: "state.nearUntil.getTime()));",
    tests: ["test/tick/near-line.test.ts"],
  },
  {
    name: "the plan lock is taken before the shard is read",
    file: batch,
    text: "await Promise.all([lockPlan(tx, shard), readShard(tx, shard)]);",
    replacement: "await Promise.all([undefined, readShard(tx, shard)]);",
    tests: ["test/race/mutants.test.ts", "test/tick/tick.test.ts"],
  },
  {
    name: "a job that exists is no failure of the batch",
    file: batch,
    text: 'if (sqlState(error) !== "unique_violation") throw error;',
    replacement: "throw error;",
    tests: ["test/tick/tick.test.ts", "test/plan/edit.test.ts", "test/plan/lagging-edit.test.ts"],
  },
  {
    name: "what a shard has reached never falls when its clock goes back",
    file: batch,
    text: "reached_at = greatest(reached_at, ${reached})",
    replacement: "reached_at = ${reached}",
    tests: ["test/tick/near-line.test.ts"],
  },
  {
    name: "the waits of parcels are counted from when the shard was read",
    file: batch,
    text: "waitMs: parcel.waitMs - sinceMs",
    replacement: "waitMs: parcel.waitMs",
    tests: ["test/tick/batch-waits.test.ts"],
  },
  {
    name: "the rows of one schedule and instant are not parted",
    file: ahead,
    text: "fetch first ${batchMax} rows with ties`;",
    replacement: "fetch first ${batchMax} rows only`;",
    tests: ["test/tick/tick.test.ts", "test/race/mutants.test.ts"],
  },
  {
    name: "a batch makes no more jobs than fit into one statement",
    file: ahead,
    text: "const size = all <= jobsMax ? batchMax",
    replacement: "const size = all <= Infinity ? batchMax",
    tests: ["test/tick/tick.test.ts"],
  },
  {
    name: "a batch after hours without a tick is small",
    file: ahead,
    text: "> longLagMs ? Math.min(batchMax, laggingRowsMax)",
    replacement: "> longLagMs ? batchMax",
    tests: ["test/tick/tick.test.ts", "test/tick/days.test.ts"],
  },
  {
    name: "far rows are brought near under the plan lock",
    file: days,
    text: "await Promise.all([lockPlan(tx, shard), readShard(tx, shard)]);",
    replacement: "await Promise.all([undefined, readShard(tx, shard)]);",
    tests: ["test/tick/near-line.test.ts"],
  },
  {
    name: "rows that are due at one instant are brought near together",
    file: days,
    text: "order by due_at fetch first ${rowsMax} rows with ties",
    replacement: "order by due_at fetch first ${rowsMax} rows only",
    tests: ["test/tick/days.test.ts"],
  },
  {
    name: "the near line never goes back when rows are brought near",
    file: days,
    text: "set near_until = greatest(near_until, ${line}) where",
    replacement: "set near_until = ${line} where",
    tests: ["test/tick/days.test.ts"],
    equivalent:
      "The transaction has returned before this statement where the line is at its target or past it, and the rows it has moved are due behind the line that it read under the lock.",
  },
  {
    name: "the near line of an idle shard never goes back",
    file: idle,
    text: "set near_until = greatest(s.near_until, l.line)",
    replacement: "set near_until = l.line",
    tests: ["test/tick/near-line.test.ts", "test/tick/idle.test.ts"],
  },
  {
    name: "the near line of a shard with a far row before it is not raised without that row",
    file: idle,
    text: "order by f.due_at limit 1) is null",
    replacement: "order by f.due_at limit 1) is not true or true",
    tests: ["test/tick/idle.test.ts"],
  },
  {
    name: "the near line is raised only to days that are attached",
    file: house,
    text: "  if (!attached.now) return;\n",
    replacement: "",
    tests: ["test/tick/near-line.test.ts"],
  },
  {
    name: "the near line of a shard that is behind is raised only when the days of the past are there",
    file: house,
    text: "wanted(shard) && (attached.past || !shard.behind)",
    replacement: "wanted(shard)",
    tests: ["test/tick/days-in-steps.test.ts"],
  },
  {
    name: "an idle shard is passed only to its near line",
    file: idle,
    text: "near_until - interval '1 millisecond') as horizon",
    replacement: "'infinity'::timestamptz) as horizon",
    tests: ["test/tick/idle.test.ts"],
  },
  {
    name: "the reach of an idle shard never falls",
    file: idle,
    text: "greatest(s.reached_at, l.horizon)),",
    replacement: "l.horizon),",
    tests: ["test/tick/near-line.test.ts", "test/tick/idle.test.ts"],
  },
  {
    name: "a watermark that stands past the horizon is not put back",
    file: idle,
    text: "and not l.reached and not l.due",
    replacement: "and not l.due",
    tests: ["test/tick/idle.test.ts"],
  },
  {
    name: "a shard with something due is fired, not passed",
    file: idle,
    text: "where l.id = s.id and not l.reached and not l.due",
    replacement: "where l.id = s.id and not l.reached",
    tests: ["test/tick/idle.test.ts", "test/tick/tick.test.ts"],
  },
  {
    name: "a failure of pulses does not stop the rest of the tick",
    file: tick,
    text: "await makePulses(run).catch(run.note);",
    replacement: "await makePulses(run);",
    tests: ["test/tick/failing-parts.test.ts"],
  },
  {
    name: "a failure while spread parcels are sent does not stop the rest of the tick",
    file: tick,
    text: "await sendSpread(run).catch(run.note);",
    replacement: "await sendSpread(run);",
    tests: ["test/tick/failing-parts.test.ts"],
  },
  {
    name: "a failing shard does not keep the other shards from theirs",
    file: "lib/tick/fire-shards.ts",
    text: "await fireShard(run, shard, sending, press).catch(run.note);",
    replacement: "await fireShard(run, shard, sending, press);",
    tests: ["test/tick/tick.test.ts"],
  },
  {
    name: "where idle shards cannot be passed together, each is fired",
    file: "lib/tick/fire-shards.ts",
    text: "    run.note(error);\n    return new Set();",
    replacement: "    throw error;",
    tests: ["test/tick/failing-parts.test.ts", "test/tick/idle.test.ts"],
  },
  {
    name: "a part of the housekeeping that fails does not keep the later parts from theirs",
    file: house,
    text: "await act().catch(run.note);",
    replacement: "await act();",
    tests: ["test/tick/failing-parts.test.ts"],
  },
  {
    name: "a tick in which a part has failed fails at its end",
    file: tick,
    text: "if (failures.length > 0)",
    replacement: "if (failures.length > 1_000)",
    tests: ["test/tick/tick.test.ts"],
  },
];
