import type { Mutant } from "../mutant.ts";

const ended = "lib/job-control/delete-ended.ts";
const holds = "lib/tick/housekeeping/clear-ended-holds.ts";
const plans = "lib/tick/fire/retry-plans.ts";
const forget = "lib/quarantine/forget-old.ts";
const quarantine = "lib/quarantine/quarantine.ts";
const inbox = "lib/inbox/inbox-rows.ts";
const pulses = "lib/worker/work-pulses.ts";

const stuckTest = "test/poison/stuck.test.ts";
const byHandTest = "test/quarantine/by-hand.test.ts";
const forgetTest = "test/poison/forget.test.ts";
const lockedEntryTest = "test/poison/locked-entry.test.ts";
const pulseTest = "test/pulse/bad-row.test.ts";

/**
 * One bad row uses up neither a tick's time nor its neighbours' turn: endless loops, entries edited
 * by hand, old rows, pulses.
 */
export const badRows: readonly Mutant[] = [
  {
    name: "delete-ended: a page that is read again unchanged ends the loop",
    file: ended,
    text: "if (due.length === 0 || allListedAgain(tried, due)) break;",
    replacement: "if (due.length === 0) break;",
    tests: [stuckTest],
  },
  {
    name: "delete-ended: the stored position is cleared when there is nothing to delete",
    file: ended,
    text: "set end_look_at = null where id = any(${[...ids]}::bigint[]) and end_look_at is not null",
    replacement:
      "set end_look_at = end_look_at where id = any(${[...ids]}::bigint[]) and end_look_at is not null",
    tests: [stuckTest],
  },
  {
    name: "delete-ended: a schedule without the row of its version is quarantined",
    file: ended,
    text: "  refuseOtherMoment(locked);\n",
    replacement: "",
    tests: [stuckTest],
  },
  {
    name: "ended holds: a page that is read again unchanged ends the loop",
    file: holds,
    text: "if (page.length === 0 || allListedAgain(tried, page)) return;",
    replacement: "if (page.length === 0) return;",
    tests: [stuckTest],
  },
  {
    name: "ended holds: a schedule without the row of its version is quarantined",
    file: holds,
    text: "  refuseOtherMoment(schedules);\n",
    replacement: "",
    tests: [stuckTest],
  },
  {
    name: "plan retries: a page that is read again unchanged ends the loop",
    file: plans,
    text: "if (due.length === 0 || allListedAgain(tried, due)) return;",
    replacement: "if (due.length === 0) return;",
    tests: [stuckTest],
  },
  {
    name: "plan retries: a schedule without the row of its version keeps its entry",
    file: plans,
    text: "  refuseOtherMoment(schedules);\n",
    replacement: "",
    tests: [stuckTest],
  },
  {
    name: "plan retries: an item that is not a number does not fail the tick",
    file: plans,
    text: "case when q.item ~ ${number} then q.item::bigint end",
    replacement: "q.item::bigint",
    tests: [byHandTest],
  },
  {
    name: "inbox: an item that is not a number belongs to no command",
    file: inbox,
    text: "case when ${isNumber(sql)} then item::bigint end",
    replacement: "item::bigint",
    tests: [byHandTest],
  },
  {
    name: "shared holds: an item that is not a revision is dropped",
    file: "lib/batch/members/members-aside.ts",
    text: "h.revision::text = split_part(q.item, '/', 1))",
    replacement: "h.revision = split_part(q.item, '/', 1)::bigint)",
    tests: [byHandTest],
  },
  {
    name: "quarantine: a number of tries at the limit of its type is not increased",
    file: quarantine,
    text: "least(greatest(q.tries, 0), ${triesMax}::int) + 1",
    replacement: "greatest(q.tries, 0) + 1",
    tests: [byHandTest],
  },
  {
    name: "quarantine: a negative number of tries counts as none",
    file: quarantine,
    text: "power(2, least(greatest(q.tries, 0), ${doublingsMax}))",
    replacement: "power(2, least(q.tries, ${doublingsMax}))",
    tests: [byHandTest],
  },
  {
    name: "forgotten rows: a page that is read again unchanged ends the loop",
    file: forget,
    text: "    if (allListedAgain(tried, page)) break;\n",
    replacement: "",
    tests: [forgetTest],
  },
  {
    name: "forgotten rows: when time is up, the failed parts of a page are left to the next run",
    file: forget,
    text: "(parts === 0 || parts >= partsAlways) && timeIsUp()",
    replacement: "timeIsUp()",
    tests: [forgetTest],
  },
  {
    name: "forgotten rows: a locked mark is skipped",
    file: "lib/tick/housekeeping/forget-commands.ts",
    text: " for update skip locked)`;",
    replacement: ")`;",
    tests: [forgetTest],
  },
  {
    name: "forget_audit: the last thirty days are kept whatever the parameter",
    file: "lib/retention/sql/forget_audit.sql",
    text: "a.at < least(p_before, carillon.clock() - interval '30 days')",
    replacement: "a.at < p_before",
    tests: ["test/retention/purge.test.ts"],
  },
  {
    name: "pulses: the database refuses an envelope that is not JSON",
    file: "migrations/0007-pulses.sql",
    text: 'check ((\'{"id":"",\' || rest) is json)',
    replacement: "check (rest is not null)",
    tests: [pulseTest],
  },
  {
    name: "pulses: when a target cannot be read, only its own pulses are given up",
    file: pulses,
    text: "if (where === undefined) this.#refuse(target, envelopes.length);",
    replacement: "if (where === undefined) throw new Error(`There is no target ${target}.`);",
    tests: [pulseTest],
  },
  {
    name: "pulses: a target is checked before messages are sent to it",
    file: "lib/pulse/pulse-targets.ts",
    text: "if (isSendable(target)) known.set(id, target);",
    replacement: "known.set(id, target as PulseTarget);",
    tests: [pulseTest],
  },
  {
    name: "pulses: an envelope that is not JSON fails only its own pulse",
    file: "lib/target/pulse-envelope.ts",
    text: "  } catch {\n    return null;\n  }",
    replacement: "  } catch (error) {\n    throw error;\n  }",
    tests: [pulseTest],
  },
  {
    name: "pulses: a pulse that cannot be made into a message is counted once",
    file: pulses,
    text: "if (ids.length === 0 || this.#parcel.targets !== null) return;",
    replacement: "if (ids.length === 0) return;",
    tests: [pulseTest],
  },
  {
    name: "a locked quarantine entry is not waited for",
    file: quarantine,
    text: " and item not in (select item from free)`;",
    replacement: " and false`;",
    tests: [lockedEntryTest],
  },
  {
    name: "the backlog continues behind a row with a locked entry",
    file: "lib/tick/housekeeping/admit-backlog.ts",
    text: "    without.push(...locked.map(({ item }) => item));\n",
    replacement: "",
    tests: [lockedEntryTest],
  },
  {
    name: "the sweep of lanes ends when every lane is listed again",
    file: "lib/parcel/sweep-lanes.ts",
    text: " || allListedAgain(tried, parcels)",
    replacement: "",
    tests: [lockedEntryTest],
  },
];
