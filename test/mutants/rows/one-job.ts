import type { Mutant } from "../mutant.ts";

const sql = "migrations/0052-settle-apart.sql";
const settle = "lib/parcel/settle-apart.ts";
const end = "lib/parcel/end-lease.ts";
const split = "lib/parcel/split-parcel.ts";
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
    name: "leave_unsettled: the place at the target",
    file: sql,
    text: "update carillon.parcels p set slots = null, turn = null,",
    replacement: "update carillon.parcels p set",
    tests,
  },
  {
    name: "leave_unsettled: the lease ends",
    file: sql,
    text: "lease_until = least(p.lease_until, v_now), offer_at = least(p.offer_at, v_now),\n",
    replacement: "lease_until = p.lease_until,\n",
    tests,
  },
  {
    name: "leave_unsettled: the parcel lists the jobs that stay",
    file: sql,
    text: "schedule_ids = coalesce(l.schedule_ids, p.schedule_ids),",
    replacement: "schedule_ids = p.schedule_ids,",
    tests,
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
    text: "if (unsettled > 0) return leaveUnsettled(sql, parcel.id, parcel.fence);",
    replacement: "if (unsettled > 0) return [];",
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
    name: "a parcel whose jobs are all settled in parts ends",
    file: settle,
    text: "return (await settleParcel(sql, parcel, nothing, notify)).outgoing;",
    replacement: "return leaveUnsettled(sql, parcel.id, parcel.fence);",
    tests,
  },
  {
    name: "a lease whose jobs cannot all be taken says why",
    file: end,
    text: "...(await leaveUnsettled(sql, id, null))], error };",
    replacement: "...(await leaveUnsettled(sql, id, null))] };",
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
];
