import type { Mutant } from "../mutant.ts";

const places = "test/parcel/team-places.test.ts";
const divided = "test/parcel/team-places-divided.test.ts";

/** The places of one team at a limited target. */
export const teamPlaceRows: readonly Mutant[] = [
  {
    name: "direct_slots: a parcel takes no more places than its team may have",
    file: "lib/limit/sql/direct_slots.sql",
    text: "return least(p_jobs, v_target.concurrency - v_slots, v_target.per_team - v_own);",
    replacement: "return least(p_jobs, v_target.concurrency - v_slots);",
    tests: [places],
  },
  {
    name: "direct_slots: a parcel of a team that has all its places waits",
    file: "lib/limit/sql/direct_slots.sql",
    text: " or v_own >= v_target.per_team\n",
    replacement: "\n",
    tests: [places],
  },
  {
    name: "grant_turns: places that a team has already count",
    file: "lib/limit/sql/grant_turns.sql",
    text: "v_target.per_team - coalesce(s.slots, 0) - sum",
    replacement: "v_target.per_team - sum",
    tests: [places],
  },
  {
    name: "grant_turns: places that a team may not take go to others",
    file: "lib/limit/sql/grant_turns.sql",
    text: "sum(f.at_once) over place - f.at_once as slots_ahead",
    replacement: "sum(least(f.jobs, 10)) over place - least(f.jobs, 10) as slots_ahead",
    tests: [places],
  },
  {
    name: "due_turns: teams that have all their places do not count among the teams that are compared",
    file: "lib/limit/sql/due_turns.sql",
    text: "case when n.team = any(v_full) then 0 else 1 end",
    replacement: "1",
    tests: [places],
  },
  {
    name: "due_turns: a team may have more places than its limit allows",
    file: "lib/limit/sql/due_turns.sql",
    text: "array_agg(greatest(0, v_per_team - k.slots))",
    replacement: "array_agg(v_per_team - k.slots)",
    tests: [places],
  },
  {
    name: "due_turns: parcels of a team that has all its places are not read",
    file: "lib/limit/sql/due_turns.sql",
    text: ",\n          coalesce(v_rooms[array_position(v_teams, l.team)], v_per_team))) f",
    replacement: ")) f",
    tests: [places],
  },
  {
    name: "due_turns: no more parcels of a team are listed than its places allow",
    file: "lib/limit/sql/due_turns.sql",
    text: "where coalesce(o.slots_ahead < o.room, true)",
    replacement: "where true",
    tests: [places],
  },
  {
    name: "enter_target: a parcel of several teams is divided",
    file: "lib/limit/sql/enter_target.sql",
    text: "if v_target.per_team is not null and p_parcel.team_id is null then",
    replacement: "if false then",
    tests: [divided],
  },
  {
    name: "enter_target: a parcel is no larger than the places of its team",
    file: "lib/limit/sql/enter_target.sql",
    text: "v_at_once := least(v_target.concurrency, v_target.per_team);",
    replacement: "v_at_once := v_target.concurrency;",
    tests: [places],
  },
  {
    name: "divide_parcel: the turn of a divided parcel is given up",
    file: "lib/parcel/sql/divide_parcel.sql",
    text: "set team_id = nullif(g.team, 0), turn = null, slots = null, slot_at = null,",
    replacement: "set team_id = nullif(g.team, 0),",
    tests: [divided],
  },
  {
    name: "divide_parcel: a job that moved to another parcel meanwhile stays there",
    file: "lib/parcel/sql/divide_parcel.sql",
    text: "coalesce(k.n, 0)\n      and j.state = 'waiting' and j.parcel_id = p_parcel.id",
    replacement: "coalesce(k.n, 0)\n      and j.state = 'waiting'",
    tests: [divided],
  },
  {
    name: "packed-jobs: teams travel apart at a target that limits the places of one",
    file: "lib/plan/packed-jobs.ts",
    text: "\n        or target in (select id from carillon.targets where concurrency is not null and per_team is not null))",
    replacement: ")",
    tests: [divided],
  },
];
