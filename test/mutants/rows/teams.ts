import type { Mutant } from "../mutant.ts";

const teams = ["test/parcel/teams.test.ts"];
const turns = ["test/parcel/team-turns.test.ts"];
const room = ["test/parcel/team-room.test.ts"];
const made = ["test/parcel/team-of-parcels.test.ts"];
const fairOrder = ["test/local/queues/fair-order.test.ts"];

/** One team's many jobs do not make the jobs of other teams late. */
export const teamRows: readonly Mutant[] = [
  {
    name: "the jobs of a team that fill a parcel travel apart",
    file: "lib/plan/packed-jobs.ts",
    text: "left join crowds c on c.team_id = o.team_id",
    replacement: "left join crowds c on false and c.team_id = o.team_id",
    tests: teams,
  },
  {
    name: "a message of a large team names its group",
    file: "lib/parcel/parcel-queue.ts",
    text: '...(typeof group === "string" ? { MessageGroupId: group } : {})',
    replacement: "",
    tests: teams,
  },
  {
    name: "a team with a large part of the jobs travels apart",
    file: "lib/plan/packed-jobs.ts",
    text: "jobs >= of_all / ${crowdsMax}",
    replacement: "false",
    tests: teams,
  },
  {
    name: "a parcel with jobs of one team names it",
    file: "lib/plan/packed-jobs.ts",
    text: "min(o.team_id) = max(o.team_id)",
    replacement: "c.team_id is not null",
    tests: teams,
  },
  {
    name: "a group that is not known is looked up",
    file: "lib/parcel/hand-over.ts",
    text: "if (unknown.length === 0) return parcels;",
    replacement: "return parcels;",
    tests: teams,
  },
  {
    name: "write_outcomes: a parcel of jobs that are tried again names their team",
    file: "lib/parcel/sql/write_outcomes.sql",
    text: "carillon.one_team(array_agg(r.team_id)) as team_id",
    replacement: "p_parcel.team_id as team_id",
    tests: made,
  },
  {
    name: "one_team: jobs of a team and of none are of no team",
    file: "lib/parcel/sql/one_team.sql",
    text: "count(t) = count(*)",
    replacement: "true",
    tests: made,
  },
  {
    name: "pass_lanes: a job that waits in a lane leaves its parcel for one of its team",
    file: "lib/lane/sql/pass_lanes.sql",
    text: "(select s.team_id from carillon.schedules s where s.id = p.schedule_id)",
    replacement: "p_parcel.team_id",
    tests: made,
  },
  {
    name: "due_turns: large teams share a target by their weights",
    file: "lib/limit/sql/due_turns.sql",
    text: "(select t.weight from carillon.teams t where t.id = l.team)",
    replacement: "1",
    tests: turns,
  },
  {
    name: "due_turns: places that a team has count for its turn",
    file: "lib/limit/sql/due_turns.sql",
    text: "k.places - 0.3 * ln",
    replacement: "0 - 0.3 * ln",
    tests: turns,
  },
  {
    name: "due_turns: an old backlog of a team keeps no other team waiting",
    file: "lib/limit/sql/due_turns.sql",
    text: "order by o.share, o.turn_at, o.id",
    replacement: "order by o.turn_at, o.id",
    tests: turns,
  },
  {
    name: "due_turns: slow workers take no more parcels of a team than it may have",
    file: "lib/limit/sql/due_turns.sql",
    text: "(select r.room from rooms r where r.team = l.team)",
    replacement: "p_max",
    tests: turns,
  },
  {
    name: "find_room: slow workers take no more parcels of a team than it may have",
    file: "lib/limit/sql/find_room.sql",
    text: "and carillon.team_has_room(p_team, p_target.share, p_now)",
    replacement: "",
    tests: room,
  },
  {
    name: "team_has_room: claims at one moment count each other",
    file: "lib/limit/sql/team_has_room.sql",
    text: "carillon.take_seat(12, p_team, p_share)",
    replacement: "1",
    tests: room,
  },
  {
    name: "team_targets: a place that a team gives up is for its other targets too",
    file: "lib/limit/sql/team_targets.sql",
    text: "return next v_target;",
    replacement: "",
    tests: turns,
  },
  {
    name: "grant_turns: at a rate, other teams are not behind two minutes of starts",
    file: "lib/limit/sql/grant_turns.sql",
    text: "else carillon.team_ahead() end",
    replacement: "else interval '2 minutes' end",
    tests: room,
  },
  {
    name: "spread_parcels: a team's parcels take no starts beyond five seconds",
    file: "lib/parcel/sql/spread_parcels.sql",
    text: "l.team_id is not null and l.start_at",
    replacement: "false and l.start_at",
    tests: turns,
  },
  {
    name: "message_group: a team has as many groups as its weight",
    file: "lib/parcel/sql/message_group.sql",
    text: "t.weight > 1",
    replacement: "false",
    tests: teams,
  },
  {
    name: "due_turns: a claim looks at a bounded number of teams",
    file: "lib/limit/sql/due_turns.sql",
    text: "where t.found < 16",
    replacement: "where true",
    tests: turns,
  },
  {
    name: "due_turns: the teams that a claim looks at change",
    file: "lib/limit/sql/due_turns.sql",
    text: "% (e.last + 1))::int as middle",
    replacement: "% 1)::int as middle",
    tests: turns,
  },
  {
    name: "fill_parcel: jobs of a large team fill up no parcel of others",
    file: "lib/parcel/sql/fill_parcel.sql",
    text: "      and coalesce(p.team_id, 0) = coalesce(p_head.team_id, 0)\n",
    replacement: "",
    tests: turns,
  },
  {
    name: "the local queues deliver messages of quiet groups first",
    file: "lib/tools/local/queue/fair-queues.ts",
    text: "bringForward(queue, most, times.shares());",
    replacement: "",
    tests: ["test/local/queues/fair-queues.test.ts"],
  },
  {
    name: "a group is quiet below thirty messages in flight",
    file: "lib/tools/local/queue/fair-order.ts",
    text: "const noisyInFlightMin = 30;",
    replacement: "const noisyInFlightMin = 1;",
    tests: fairOrder,
  },
  {
    name: "of noisy groups, the one with the fewest messages in flight is next",
    file: "lib/tools/local/queue/fair-order.ts",
    text: "inFlight.set(group, (inFlight.get(group) ?? 0) + 1);",
    replacement: "",
    tests: fairOrder,
  },
];
