import type { Mutant } from "../mutant.ts";

const edits = "lib/parcel/lanes.ts";

const lanes = "test/parcel/lanes.test.ts";
const groupLanes = "test/parcel/group-lanes.test.ts";
const grouped = "test/parcel/grouped-handlers.test.ts";

/** How jobs pass and leave their lanes, and how edits treat jobs inside and waiting ones. */
export const lanePassRows: readonly Mutant[] = [
  {
    name: "gather_group: a job that killed its worker stays alone",
    file: "lib/lane/sql/gather_group.sql",
    text: "  if p_parcel.alone then return; end if;\n  for v_shard in",
    replacement: "  for v_shard in",
    tests: ["test/parcel/grouped-alone.test.ts"],
  },
  {
    name: "gather_group: a job behind the locked gate of another shard is not gathered",
    file: "lib/lane/sql/gather_group.sql",
    text: "if v_shard <> p_parcel.shard and pg_try_advisory_xact_lock_shared(2, v_shard) then",
    replacement: "if v_shard <> p_parcel.shard then",
    tests: [grouped],
  },
  {
    name: "gather_group: a job that killed its worker is not gathered",
    file: "lib/lane/sql/gather_group.sql",
    text: "and (p.lease_until is not null or p.held_schedule is not null or p.alone))",
    replacement: "and (p.lease_until is not null or p.held_schedule is not null))",
    tests: ["test/parcel/grouped-alone.test.ts"],
  },
  {
    name: "gather_group: a job whose retry is not ready is not gathered",
    file: "lib/lane/sql/gather_group.sql",
    text: "and j.parcel_id <> p_parcel.id and coalesce(j.ready_at, j.due_at) <= p_now",
    replacement: "and j.parcel_id <> p_parcel.id",
    tests: [grouped],
  },
  {
    name: "pass_lanes: a forgiven job has no deadline",
    file: "lib/lane/sql/pass_lanes.sql",
    text: "where k.kind = 'cadence' and j.attempt = 0 and j.started_at is null and j.forgiven is null and j.due_at + s.deadline_ms",
    replacement:
      "where k.kind = 'cadence' and j.attempt = 0 and j.started_at is null and j.due_at + s.deadline_ms",
    tests: ["test/job-control/job-retry.test.ts", "test/plan/catch-up.test.ts"],
  },
  {
    name: "pass_lanes: the lease counts from when the lanes were locked",
    file: "lib/lane/sql/pass_lanes.sql",
    text: "set laned = true, claimed_at = v_now, lease_until = p.lease_until + (v_now - p.claimed_at),\n      offer_at = p.lease_until + (v_now - p.claimed_at)",
    replacement: "set laned = true, claimed_at = v_now",
    tests: [lanes],
  },
  {
    name: "pass_lanes: a waiting job stays alone",
    file: "lib/lane/sql/pass_lanes.sql",
    text: "p_parcel.owed, p_parcel.alone, p_parcel.made_at,",
    replacement: "p_parcel.owed, null, p_parcel.made_at,",
    tests: ["test/parcel/stays-alone.test.ts"],
  },
  {
    name: "gather_group: a running job is not gathered",
    file: "lib/lane/sql/gather_group.sql",
    text: "and (p.lease_until is not null or p.held_schedule is not null or p.alone))",
    replacement: "and (p.held_schedule is not null or p.alone))",
    tests: [grouped],
    equivalent:
      "A running job of the group is inside of its lane, so the lane is busy, and nothing is gathered.",
  },
  {
    name: "leave_lanes: a group's job that is retried lets the others continue",
    file: "lib/lane/sql/leave_lanes.sql",
    text: "where o.waits and o.lane like 'grouped/%' and e.lane = o.lane",
    replacement: "where false and e.lane = o.lane",
    tests: ["test/parcel/lane-retries.test.ts"],
  },
  {
    name: "gather_group: a held job is not gathered",
    file: "lib/lane/sql/gather_group.sql",
    text: "and coalesce(s.deleted_at, 'infinity') = 'infinity' and (s.held_since is null or s.held_until <= p_now or j.kind = 'manual')\n",
    replacement: "and coalesce(s.deleted_at, 'infinity') = 'infinity'\n",
    tests: [grouped],
  },
  {
    name: "gather_group: a job past its deadline is not gathered",
    file: "lib/lane/sql/gather_group.sql",
    text: "or j.due_at + s.deadline_ms * interval '1 millisecond' >= p_now)))\n    where e.lane",
    replacement: "or true)))\n    where e.lane",
    tests: [grouped],
  },
  {
    name: "gather_group: no more jobs are gathered than a parcel may hold",
    file: "lib/lane/sql/pass_lanes.sql",
    text: "v_now, greatest(0, 250 - cardinality(p_parcel.occurrences)));",
    replacement: "v_now, 1000);",
    tests: [grouped],
  },
  {
    name: "pass_lanes: the lanes are locked before jobs pass",
    file: "lib/lane/sql/pass_lanes.sql",
    text: "  perform carillon.lock_lanes(v_schedules, v_lanes);\n  v_now := carillon.clock();",
    replacement: "  v_now := carillon.clock();",
    tests: [lanes],
  },
  {
    name: "pass_lanes: the deadline counts only for a job that has not started",
    file: "lib/lane/sql/pass_lanes.sql",
    text: "where k.kind = 'cadence' and j.attempt = 0 and j.started_at is null and j.forgiven is null and j.due_at + s.deadline_ms",
    replacement: "where k.kind = 'cadence' and j.forgiven is null and j.due_at + s.deadline_ms",
    tests: ["test/parcel/lane-retries.test.ts"],
  },
  {
    name: "pass_lanes: a job that will be retried is not skipped",
    file: "lib/lane/sql/pass_lanes.sql",
    text: "s.overlap = 'skip' and j.attempt = 0 and j.started_at is null and not e.entered as may_skip",
    replacement: "s.overlap = 'skip' as may_skip",
    tests: ["test/parcel/lane-retries.test.ts"],
  },
  {
    name: "pass_lanes: a job with two lanes passes both or none",
    file: "lib/lane/sql/pass_lanes.sql",
    text: "bool_and(open) as passes",
    replacement: "bool_or(open) as passes",
    tests: [groupLanes],
  },
  {
    name: "sweep_lanes: a job that waits although no other is before it passes",
    file: "lib/lane/sql/sweep_lanes.sql",
    text: "return query select 0, f.id, f.queue from carillon.free_lanes(v_lanes, v_now) f;\n  update",
    replacement: "update",
    tests: [lanes],
  },
  {
    name: "rearrangeLanes: a running job counts",
    file: edits,
    text: "if (entered.length > 0) await markRunning(tx, schedule);",
    replacement: "",
    tests: [lanes],
  },
  {
    name: "rearrangeLanes: a running job is inside",
    file: edits,
    text: "j.n, p.lease_until is not null or (l.lane",
    replacement: "j.n, (l.lane",
    tests: [lanes],
  },
  {
    name: "rearrangeLanes: a withdrawn job leaves no row in a lane",
    file: edits,
    text: "(e.lane <> all(${stands}::text[]) or (e.due_at > ${cut} and not exists",
    replacement: "(e.lane <> all(${stands}::text[]) or (false and not exists",
    tests: [lanes, groupLanes],
  },
  {
    name: "rearrangeLanes: a job that waited for another rule is released",
    file: edits,
    text: "    ...rulesChanged,\n",
    replacement: "",
    tests: [lanes],
  },
  {
    name: "rearrangeLanes: a held job stays in its lane",
    file: edits,
    text: "  if (isHeld) await holdInLanes(tx, schedule.id, stands);\n",
    replacement: "",
    tests: [lanes, groupLanes],
  },
  {
    name: "cancelInLanes: a running job keeps its place",
    file: edits,
    text: "join carillon.parcels p on p.id = j.parcel_id and p.lease_until is not null\n      where",
    replacement: "join carillon.parcels p on p.id = j.parcel_id and false\n      where",
    tests: [groupLanes],
  },
];
