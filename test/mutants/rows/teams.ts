import type { Mutant } from "../mutant.ts";

const teams = ["test/parcel/teams.test.ts"];
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
    name: "a worker sends the jobs of a large team that are tried again in its group",
    file: "lib/worker/worker.ts",
    text: "looksUpGroups: records.some(isOfTeam)",
    replacement: "looksUpGroups: false",
    tests: teams,
  },
  {
    name: "a sweep sends a parcel of a large team in its group",
    file: "lib/tick/housekeeping/housekeeping.ts",
    text: "{ ...queue, looksUpGroups: true }, swept.outgoing",
    replacement: "queue, swept.outgoing",
    tests: teams,
  },
  {
    name: "write_outcomes: a parcel of jobs that are tried again keeps the team",
    file: "lib/parcel/sql/write_outcomes.sql",
    text: "p_parcel.priority, p_parcel.team_id, p_parcel.owed,",
    replacement: "p_parcel.priority, null::int, p_parcel.owed,",
    tests: teams,
  },
  {
    name: "message_group: a team has as many groups as its weight",
    file: "lib/parcel/sql/message_group.sql",
    text: "t.weight > 1",
    replacement: "false",
    tests: teams,
  },
  {
    name: "due_turns: large teams share a target by their weights",
    file: "lib/limit/sql/due_turns.sql",
    text: "(select w.weight from carillon.teams w where w.id = t.team)::float8",
    replacement: "1::float8",
    tests: teams,
  },
  {
    name: "due_turns: places that a team has count for its turn",
    file: "lib/limit/sql/due_turns.sql",
    text: "k.target_id = p_target and k.team_id = t.team",
    replacement: "false",
    tests: teams,
  },
  {
    name: "due_turns: a large team's parcels come before others that are ready ten minutes later",
    file: "lib/limit/sql/due_turns.sql",
    text: "interval '10 minutes' + min",
    replacement: "interval '10 days' + min",
    tests: teams,
  },
  {
    name: "due_turns: a claim looks at a bounded number of teams",
    file: "lib/limit/sql/due_turns.sql",
    text: "where t.found < 16",
    replacement: "where true",
    tests: teams,
  },
  {
    name: "due_turns: the teams that a claim looks at change",
    file: "lib/limit/sql/due_turns.sql",
    text: "% (e.last + 1))::int as middle",
    replacement: "% 1)::int as middle",
    tests: teams,
  },
  {
    name: "fill_parcel: jobs of a large team fill up no parcel of others",
    file: "lib/parcel/sql/fill_parcel.sql",
    text: "      and coalesce(p.team_id, 0) = coalesce(p_head.team_id, 0)\n",
    replacement: "",
    tests: teams,
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
