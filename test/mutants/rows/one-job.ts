import type { Mutant } from "../mutant.ts";

const sql = "migrations/0052-settle-apart.sql";
const settle = "lib/parcel/settle-apart.ts";
const end = "lib/parcel/end-lease.ts";
const split = "lib/parcel/split-parcel.ts";
const waitingTests = ["test/poison/waiting-parcel.test.ts"];
const tests = ["test/poison/one-job.test.ts"];

/** One job that cannot be written, and the other jobs of its parcel. */
export const oneJobRows: readonly Mutant[] = [
  {
    name: "settle_some: the fence",
    file: sql,
    text: "where p.id = p_parcel and p.fence = p_fence and p.lease_until is not null for update;\n  v_now",
    replacement: "where p.id = p_parcel and p.lease_until is not null for update;\n  v_now",
    tests,
  },
  {
    name: "settle_some: its lease goes on, so that no sweep takes the other jobs meanwhile",
    file: sql,
    text: "update carillon.parcels p set lease_until = greatest(p.lease_until, v_now + interval '30 seconds'),",
    replacement: "update carillon.parcels p set lease_until = p.lease_until,",
    tests,
  },
  {
    name: "end_lease_of_some: the jobs go back uncharged, each alone",
    file: sql,
    text: "array_agg('back'::text) as outcomes",
    replacement: "array_agg('crashed'::text) as outcomes",
    tests,
  },
  {
    name: "leave_parcel: the place at the target",
    file: sql,
    text: "update carillon.parcels p set slots = null, turn = null,",
    replacement: "update carillon.parcels p set",
    tests,
  },
  {
    name: "leave_parcel: the lease ends",
    file: sql,
    text: "lease_until = least(p.lease_until, v_now),\n      offer_at = least(p.offer_at, v_now),",
    replacement: "lease_until = p.lease_until,",
    tests,
  },
  {
    name: "leave_parcel: the parcel lists the jobs that stay",
    file: sql,
    text: "schedule_ids = v_stay.schedule_ids, kinds",
    replacement: "schedule_ids = v_parcel.schedule_ids, kinds",
    tests,
  },
  {
    name: "leave_parcel: a parcel without a job is deleted",
    file: sql,
    text: "    delete from carillon.parcels p where p.id = p_parcel;\n  else",
    replacement: "    null;\n  else",
    tests,
  },
  {
    name: "leave_parcel: the entries of its lanes go",
    file: sql,
    text: "where not o.waits and e.lane = o.lane and e.due_at = o.due_at",
    replacement: "where false and e.lane = o.lane and e.due_at = o.due_at",
    tests: waitingTests,
  },
  {
    name: "due_turns: a waiting parcel that is set aside is passed over",
    file: sql,
    text: "q.consumer = 'turn' and q.item = 'parcel ' || p.id))",
    replacement: "q.consumer = 'turn' and q.item = 'parcel ' || p.id and false))",
    tests: waitingTests,
  },
  {
    name: "write_parcels: the jobs of a waiting parcel are written too",
    file: "migrations/0056-waiting-jobs.sql",
    text: "and j.state = 'waiting' and j.parcel_id = w.id;\nend $$;",
    replacement: "and j.state = 'waiting' and j.parcel_id = w.id and false;\nend $$;",
    tests: waitingTests,
  },
  {
    name: "fill_parcel: a waiting parcel that is set aside is passed over",
    file: "migrations/0056-waiting-jobs.sql",
    text: "q.consumer = 'turn' and q.item = 'parcel ' || p.id))\n    for update",
    replacement: "q.consumer = 'turn' and q.item = 'parcel ' || p.id and false))\n    for update",
    tests: waitingTests,
  },
  {
    name: "the turn that a settle in parts cannot give is left to the sweep",
    file: "lib/parcel/leave-parcel.ts",
    text: '    log.warn("worker.turns-left", { target, error: errorText(error) });\n    return [];',
    replacement: "    throw error;",
    tests: waitingTests,
  },
  {
    name: "turns that cannot be given are given without the parcels that cannot be written",
    file: "lib/parcel/sweep-turns.ts",
    text: "if (!mayBeOfARow(error) || (await setParcelsAside(deps, target, timeIsUp)) === 0) throw error;",
    replacement: "throw error;",
    tests: waitingTests,
  },
  {
    name: "a waiting parcel that is mended leaves the quarantine",
    file: "lib/parcel/sweep-turns.ts",
    text: "  await retryParcels(deps, timeIsUp);\n",
    replacement: "",
    tests: waitingTests,
  },
  {
    name: "move_some: a job that another parcel has stays there",
    file: sql,
    text: "and j.state = 'waiting' and j.parcel_id = p_parcel\n      returning j.occurrence, j.schedule_id, j.kind, j.n\n    )\n    insert",
    replacement:
      "and j.state = 'waiting'\n      returning j.occurrence, j.schedule_id, j.kind, j.n\n    )\n    insert",
    tests,
  },
  {
    name: "move_some: a parcel that is claimed keeps its jobs",
    file: sql,
    text: "where p.id = p_parcel and p.lease_until is null and p.lane is null and p.ready_at <= v_now and p.pulse_at is null for update;",
    replacement:
      "where p.id = p_parcel and p.lane is null and p.ready_at <= v_now and p.pulse_at is null for update;",
    tests,
  },
  {
    name: "a parcel of which parts are settled leaves its place at its target",
    file: settle,
    text: "if (held && isAnySettled) outgoing",
    replacement: "if (held && isAnySettled && unsettled.length === 0) outgoing",
    tests,
  },
  {
    name: "a job whose result has a refused value is written down without it, after its neighbours",
    file: settle,
    text: "for (const place of refused) written[place] = bare(place);",
    replacement: "for (const place of places) written[place] = bare(place);",
    tests,
  },
  {
    name: "a lease whose jobs cannot all be taken says why",
    file: end,
    text: "...(isThrough ? {} : { error })",
    replacement: "",
    tests,
  },
  {
    name: "a parcel of one job is charged by its own lease alone",
    file: end,
    text: "return jobs < 2 ? [] :",
    replacement: "return jobs < 1 ? [] :",
    tests,
  },
  {
    name: "the second half of a split parcel leaves it where the first half has the job that stays",
    file: split,
    text: "if (first.failed.length > 0) await moveEach(places.slice(half));",
    replacement: "",
    tests,
  },
  {
    name: "a gate that is not to be had blames no job of the parcel",
    file: split,
    text: "      noteLocked();\n",
    replacement: "",
    tests,
  },
  {
    name: "a worker that meets a dead one's parcel leaves to the sweep what it cannot take",
    file: "lib/worker/work-parcel.ts",
    text: 'if (error !== undefined) deps.log.warn("parcel.lease-left"',
    replacement: 'if (error !== undefined) throw error;\n  deps.log.warn("parcel.lease-left"',
    tests,
  },
  {
    name: "a job whose stored target cannot be read fails alone",
    file: "lib/target/deliver.ts",
    text: "if (known.length === jobs.length) return deliver(jobs, context);",
    replacement: "if (known.length <= jobs.length) return deliver(jobs, context);",
    tests: ["test/poison/odd-version.test.ts"],
  },
  {
    name: "a stored retry policy is looked at by kind",
    file: "lib/schedule/stored-body.ts",
    text: "if (!fitsIn(given[name]))",
    replacement: "if (!fitsIn(given[name]) && false)",
    tests: ["test/poison/odd-version.test.ts"],
  },
];
