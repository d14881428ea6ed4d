import type { Mutant } from "../mutant.ts";

const limits = "migrations/0020-target-limits.sql";
const costs = "migrations/0036-parcels-by-cost.sql";
const places = "migrations/0054-unwritable-work.sql";

const turns = "test/parcel/target-turns.test.ts";
const rates = "test/parcel/target-rates.test.ts";
const room = "test/parcel/room.test.ts";
const roomLocks = "test/parcel/room-locks.test.ts";

/** The limits and shares of targets, and the turns of what waits there. */
export const limitRows: readonly Mutant[] = [
  {
    name: "set_aside: what killed its worker stays alone",
    file: limits,
    text: "p_parcel.priority, p_parcel.owed, p_parcel.alone,\n        occurrences, schedule_ids, kinds, ns\n      from packed",
    replacement:
      "p_parcel.priority, p_parcel.owed, null,\n        occurrences, schedule_ids, kinds, ns\n      from packed",
    tests: ["test/parcel/stays-alone.test.ts"],
  },
  {
    name: "set_aside: a limit that the parcel was not packed by",
    file: limits,
    text: "or case when p_parcel.target_id is null then j.target_id = any(p_limited) else",
    replacement: "or case when p_parcel.target_id is null then false else",
    tests: [turns],
  },
  {
    name: "direct_slots: whoever waits comes first",
    file: places,
    text: "perform from carillon.due_turns(p_target, p_now, 1);\n  if found then return null; end if;\n  select t.* into v_target",
    replacement: "select t.* into v_target",
    tests: [turns],
  },
  {
    name: "direct_slots: the places that are left",
    file: places,
    text: "return least(p_jobs, coalesce(v_target.concurrency - v_slots, p_jobs));",
    replacement: "return p_jobs;",
    tests: [turns],
  },
  {
    name: "split_parcel: a job that another parcel has by now",
    file: limits,
    text: "and j.state = 'waiting' and j.parcel_id = p_parcel.id;\n\n  update carillon.parcels p set occurrences = p.occurrences[1 : p_keep]",
    replacement:
      "and j.state = 'waiting';\n\n  update carillon.parcels p set occurrences = p.occurrences[1 : p_keep]",
    tests: ["test/parcel/split-moved.test.ts"],
  },
  {
    name: "next_turns: the target's lock",
    file: limits,
    text: "begin\n  perform carillon.lock_target(p_target);\n  return query select * from carillon.grant_turns(p_target, carillon.clock(), 200);",
    replacement: "begin\n  return query select * from carillon.grant_turns(p_target, carillon.clock(), 200);",
    tests: ["test/parcel/target-race.test.ts", room],
  },
  {
    name: "renew_turns: a turn that is leased stays",
    file: limits,
    text: "where g.target_id = p_target and g.slots is not null and g.turn = 'granted' and g.lease_until is null for update skip locked);",
    replacement: "where g.target_id = p_target and g.slots is not null for update skip locked);",
    tests: [turns],
  },
  {
    name: "spread_parcels: behind what was spread before",
    file: limits,
    text: "else v_target.spread_to end)",
    replacement: "end)",
    tests: [rates],
  },
  {
    name: "define_limits: what the API has set stays",
    file: limits,
    text: "concurrency = case when t.set_at is null then v_new.concurrency else t.concurrency end,",
    replacement: "concurrency = v_new.concurrency,",
    tests: ["test/api/limits.test.ts", turns],
  },
  {
    name: "find_room: room for each who looks",
    file: places,
    text: "if not found and v_seats + (select count(*)",
    replacement: "if not found and 1 + (select count(*)",
    tests: [room],
  },
  {
    name: "wait_where_full: it is still full under the lock",
    file: costs,
    text: "if not found or not carillon.is_full(v_target, p_now) then raise sqlstate 'CR009'; end if;",
    replacement: "if not found then raise sqlstate 'CR009'; end if;",
    tests: [room],
  },
  {
    name: "nobody_waits: nobody begins to meanwhile",
    file: costs,
    text: "  perform pg_advisory_xact_lock_shared(6, p_target);\n  if not carillon.somebody_waits",
    replacement: "  if not carillon.somebody_waits",
    tests: [room],
  },
  {
    name: "enter_target: a job's lease counts from when it has its place",
    file: costs,
    text: "lease_until = p_parcel.lease_until + (v_now - p_parcel.claimed_at), offer_at",
    replacement: "lease_until = p_parcel.lease_until, offer_at",
    tests: ["test/parcel/target-places.test.ts"],
  },
  {
    name: "enter_target: not before its start",
    file: costs,
    text: "  if v_start_at > v_now then\n    update carillon.parcels",
    replacement: "  if false then\n    update carillon.parcels",
    tests: [rates],
  },
  {
    name: "limits: the target's lock",
    file: "lib/limit/limits.ts",
    text: "    await lockTarget(tx, named.id);\n",
    replacement: "",
    tests: ["test/parcel/target-places.test.ts"],
  },
  {
    name: "limits: what waits gets its turn by the new ones",
    file: "lib/limit/limits.ts",
    text: "  await handOver(sql, queue, outgoing);",
    replacement: "  void [sql, queue, outgoing, handOver];",
    tests: ["test/api/limits.test.ts", turns],
  },
  {
    name: "limits: a failed take-over is tried again",
    file: "lib/limit/define-limits.ts",
    text: "        defined = undefined;\n",
    replacement: "",
    tests: ["test/parcel/limits-taken-over.test.ts"],
  },
  {
    name: "renew_turns: what is held or waits in a lane stays",
    file: limits,
    text: "and g.lease_until is null and g.held_schedule is null and g.lane is null",
    replacement: "and g.lease_until is null",
    tests: [turns],
    equivalent:
      "What is held or waits in a lane has no place at a target (turn_at is null), and is left out by that.",
  },
  {
    name: "renew_turns: what is claimed stays",
    file: limits,
    text: "and g.lease_until is null and g.held_schedule is null and g.lane is null",
    replacement: "and g.held_schedule is null and g.lane is null",
    tests: [turns],
  },
  {
    name: "spread_parcels: not what is claimed",
    file: limits,
    text: "p.target_id = p_target and p.lease_until is null and p.turn is null and p.offers = 0",
    replacement: "p.target_id = p_target and p.turn is null and p.offers = 0",
    tests: ["test/parcel/spread-claimed.test.ts"],
  },
  {
    name: "find_room: the second look",
    file: places,
    text: "  perform from carillon.due_turns(p_target.id, p_now, 1);\n  if not found and v_seats",
    replacement: "  if v_seats",
    tests: [roomLocks],
  },
  {
    name: "find_room: the shared lock",
    file: places,
    text: "  perform pg_advisory_xact_lock_shared(6, p_target.id);\n  select s into",
    replacement: "  select s into",
    tests: [roomLocks],
  },
  {
    name: "fill_parcel: no wait for another's parcel",
    file: "migrations/0055-waiting-jobs.sql",
    text: "    for update of p skip locked\n  )\n  select array_agg(f.id) into v_others",
    replacement: "    for update of p\n  )\n  select array_agg(f.id) into v_others",
    tests: [roomLocks],
  },
  {
    name: "wait_where_full: not what is claimed",
    file: costs,
    text: "and p.ready_at <= p_now and p.lease_until is null and p.turn is null\n",
    replacement: "and p.ready_at <= p_now and p.turn is null\n",
    tests: [roomLocks],
  },
  {
    name: "set_aside: the jobs of a deleted schedule are cancelled",
    file: limits,
    text: "and s.id = k.schedule_id and s.deleted_at is not null;\n",
    replacement: "and s.id = k.schedule_id and false;\n",
    tests: ["test/parcel/claim.test.ts"],
  },
  {
    name: "set_aside: a hold",
    file: limits,
    text: "select case when j.held_since is not null and coalesce(j.held_until, 'infinity') > p_now and j.kind <> 'manual' then j.schedule_id end as held",
    replacement: "select null::bigint as held",
    tests: ["test/parcel/claim.test.ts", "test/plan/holds.test.ts"],
  },
  {
    name: "direct_slots: the limit",
    file: places,
    text: "if v_parcels >= carillon.share_now(v_target, p_now) or v_slots >= v_target.concurrency then return null; end if;",
    replacement: "if v_parcels >= carillon.share_now(v_target, p_now) then return null; end if;",
    tests: [turns],
  },
  {
    name: "direct_slots: the rate",
    file: places,
    text: "if v_next_at > p_now + carillon.rate_slack(v_took) then return null; end if;",
    replacement: "",
    tests: [rates],
  },
  {
    name: "grant_turns: the limit",
    file: places,
    text: "from placed l where coalesce(l.slots_ahead < v_slots, true)",
    replacement: "from placed l",
    tests: [turns],
  },
  {
    name: "taken_places: the place in a row that cannot be written is given away",
    file: places,
    text: "where q.consumer = 'lease' and q.item = p.id::text and q.last_at >= p.lease_until));",
    replacement: "where q.consumer = 'lease' and q.item = p.id::text and false));",
    tests: ["test/poison/taken-place.test.ts"],
  },
  {
    name: "taken_places: a lease that is newer than the entry counts",
    file: places,
    text: "q.item = p.id::text and q.last_at >= p.lease_until));",
    replacement: "q.item = p.id::text));",
    tests: ["test/poison/taken-place.test.ts"],
  },
];
