import type { Mutant } from "../mutant.ts";

const ended = "lib/job-control/delete-ended.ts";
const holds = "lib/tick/house/clear-ended-holds.ts";
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

/** One odd row takes neither a tick's time nor its neighbours' turn: loops that come to nothing, entries edited by hand, old rows, pulses. */
export const badRows: readonly Mutant[] = [
  {
    name: "delete-ended: a page that comes again as it was ends the loop",
    file: ended,
    text: "if (due.length === 0 || allListedAgain(tried, due)) break;",
    replacement: "if (due.length === 0) break;",
    tests: [stuckTest],
  },
  {
    name: "delete-ended: where there is nothing to look for, the look is cleared",
    file: ended,
    text: "set end_look_at = null where id = any(${[...ids]}::bigint[]) and end_look_at is not null",
    replacement:
      "set end_look_at = end_look_at where id = any(${[...ids]}::bigint[]) and end_look_at is not null",
    tests: [stuckTest],
  },
  {
    name: "delete-ended: a schedule without the row of its version is set aside",
    file: ended,
    text: "  refuseOtherMoment(locked);\n",
    replacement: "",
    tests: [stuckTest],
  },
  {
    name: "ended holds: a page that comes again as it was ends the loop",
    file: holds,
    text: "if (page.length === 0 || allListedAgain(tried, page)) return;",
    replacement: "if (page.length === 0) return;",
    tests: [stuckTest],
  },
  {
    name: "ended holds: a schedule without the row of its version is set aside",
    file: holds,
    text: "  refuseOtherMoment(schedules);\n",
    replacement: "",
    tests: [stuckTest],
  },
  {
    name: "plans to try again: a page that comes again as it was ends the loop",
    file: plans,
    text: "if (due.length === 0 || allListedAgain(tried, due)) return;",
    replacement: "if (due.length === 0) return;",
    tests: [stuckTest],
  },
  {
    name: "plans to try again: a schedule without the row of its version keeps its entry",
    file: plans,
    text: "  refuseOtherMoment(schedules);\n",
    replacement: "",
    tests: [stuckTest],
  },
  {
    name: "plans to try again: an item that is no number is no failure of the tick",
    file: plans,
    text: "case when q.item ~ ${number} then q.item::bigint end",
    replacement: "q.item::bigint",
    tests: [byHandTest],
  },
  {
    name: "inbox: an item that is no number is no command's",
    file: inbox,
    text: "case when ${isNumber(sql)} then item::bigint end",
    replacement: "item::bigint",
    tests: [byHandTest],
  },
  {
    name: "shared holds: an item that is no revision is dropped",
    file: "lib/batch/members-aside.ts",
    text: "h.revision::text = split_part(q.item, '/', 1))",
    replacement: "h.revision = split_part(q.item, '/', 1)::bigint)",
    tests: [byHandTest],
  },
  {
    name: "quarantine: tries at the limit of their type are raised no further",
    file: quarantine,
    text: "least(greatest(q.tries, 0), ${triesMax}::int) + 1",
    replacement: "greatest(q.tries, 0) + 1",
    tests: [byHandTest],
  },
  {
    name: "quarantine: tries below none are none",
    file: quarantine,
    text: "power(2, least(greatest(q.tries, 0), ${doublingsMax}))",
    replacement: "power(2, least(q.tries, ${doublingsMax}))",
    tests: [byHandTest],
  },
  {
    name: "forgotten rows: a page that comes again as it was ends the loop",
    file: forget,
    text: "    if (allListedAgain(tried, page)) break;\n",
    replacement: "",
    tests: [forgetTest],
  },
  {
    name: "forgotten rows: the parts of a page that failed go on when the time is up",
    file: forget,
    text: "(parts === 0 || parts >= partsAlways) && timeIsUp()",
    replacement: "timeIsUp()",
    tests: [forgetTest],
  },
  {
    name: "forgotten rows: a mark that is locked is passed over",
    file: "lib/tick/house/forget-commands.ts",
    text: " for update skip locked)`;",
    replacement: ")`;",
    tests: [forgetTest],
  },
  {
    name: "forget_audit: the last thirty days stay whatever is asked",
    file: "lib/retention/sql/forget_audit.sql",
    text: "a.at < least(p_before, carillon.clock() - interval '30 days')",
    replacement: "a.at < p_before",
    tests: ["test/retention/purge.test.ts"],
  },
  {
    name: "pulses: the database refuses an envelope that is no JSON",
    file: "migrations/0007-pulses.sql",
    text: 'check ((\'{"id":"",\' || rest) is json)',
    replacement: "check (rest is not null)",
    tests: [pulseTest],
  },
  {
    name: "pulses: a target that cannot be read has its own pulses given up",
    file: pulses,
    text: "if (where === undefined) this.#refuse(target, envelopes.length);",
    replacement: "if (where === undefined) throw new Error(`There is no target ${target}.`);",
    tests: [pulseTest],
  },
  {
    name: "pulses: a target is looked at before it is sent to",
    file: "lib/pulse/pulse-targets.ts",
    text: "if (isSendable(target)) known.set(id, target);",
    replacement: "known.set(id, target as PulseTarget);",
    tests: [pulseTest],
  },
  {
    name: "pulses: an envelope that is no JSON is the fault of its own pulse",
    file: "lib/target/send-pulses.ts",
    text: "  } catch {\n    return null;\n  }",
    replacement: "  } catch (error) {\n    throw error;\n  }",
    tests: [pulseTest],
  },
  {
    name: "pulses: one of which no message can be made is counted once",
    file: pulses,
    text: "if (unmade.length > 0 && this.#parcel.targets === null)",
    replacement: "if (unmade.length > 0)",
    tests: [pulseTest],
  },
  {
    name: "an entry that is locked is not waited for",
    file: quarantine,
    text: " and item not in (select item from free)`;",
    replacement: " and false`;",
    tests: [lockedEntryTest],
  },
  {
    name: "the backlog goes on behind a row whose entry is locked",
    file: "lib/tick/house/admit-backlog.ts",
    text: "    without.push(...locked.map(({ item }) => item));\n",
    replacement: "",
    tests: [lockedEntryTest],
  },
  {
    name: "the lanes end where each is listed again",
    file: "lib/parcel/sweep-lanes.ts",
    text: " || allListedAgain(tried, parcels)",
    replacement: "",
    tests: [lockedEntryTest],
  },
];
