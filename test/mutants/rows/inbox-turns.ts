import type { Mutant } from "../mutant.ts";

const turns = "lib/inbox/turns.ts";
const rows = "lib/inbox/inbox-rows.ts";
const call = "lib/inbox/sql/send_command.sql";
const count = "lib/inbox/sql/refuse_full_inbox.sql";
const turnsTest = "test/inbox/turns.test.ts";
const worldTest = "test/inbox/inbox-turns.test.ts";
const quotaTest = "test/inbox/inbox-quota.test.ts";

/** Roles that send commands in SQL: their turns, and how many commands they may have. */
export const inboxTurnRows: readonly Mutant[] = [
  {
    name: "inbox: a run lists no more than a share for each role",
    file: rows,
    text: "order by caller, id limit s.share) r",
    replacement: "order by caller, id limit 10000) r",
    tests: [worldTest],
  },
  {
    name: "inbox: a command waits for an older one of its key by another role",
    file: turns,
    text: "|| (row.prior !== null && !placed.has(row.prior))",
    replacement: "",
    tests: [turnsTest, worldTest],
  },
  {
    name: "inbox: the first round is a list of its own",
    file: turns,
    text: "return isShared ? [",
    replacement: "return isShared && first.length === 0 ? [",
    tests: [turnsTest],
  },
  {
    name: "inbox: a turn ends after a megabyte",
    file: turns,
    text: "bytes >= turn.bytes || ",
    replacement: "",
    tests: [turnsTest],
  },
  {
    name: "send_command: a role is counted again before it can be at its limit",
    file: call,
    text: "if v_recount_at is null or v_id >= v_recount_at then",
    replacement: "if v_recount_at is null or v_id % 100 = 0 then",
    tests: [quotaTest],
  },
  {
    name: "refuse_full_inbox: the next count is as near as the limit",
    file: count,
    text: "return p_id + least(v_most - v_rows, 10000);",
    replacement: "return p_id + 10000;",
    tests: [quotaTest],
  },
];
