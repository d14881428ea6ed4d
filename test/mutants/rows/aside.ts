import type { Mutant } from "../mutant.ts";

const unread = "test/poison/unread-edits.test.ts";
const aside = "test/crash/aside.test.ts";
const house = "test/crash/house.test.ts";

/** What a death must find whole: rows that are set aside, and work that is carried on over several transactions. */
export const asideRows: readonly Mutant[] = [
  {
    name: "an edit withdraws what was made ahead for a cadence that cannot be read",
    file: "lib/plan/end-version.ts",
    text: "if (unreadableReason(schedule.cadence) !== null) return withdrawUnread(tx, schedule, bounds);",
    replacement: "",
    tests: [unread],
  },
  {
    name: "what was due under a hold is kept when a cadence that cannot be read is edited",
    file: "lib/plan/aside.ts",
    text: "after.isHeld ? (before.heldSince ?? cut) : cut",
    replacement: "cut",
    tests: [unread],
  },
  {
    name: "a row that cannot be written is set aside by the transaction that passes it over",
    file: "lib/tick/shard-batch.ts",
    text: "    const aside = await setAllAside(tx, state, last, cause);\n    await raiseWatermark(tx, shard, last, horizon);\n    return aside;\n  });",
    replacement:
      "    await raiseWatermark(tx, shard, last, horizon);\n    return { state, last };\n  }).then((passed) => Array.isArray(passed) ? passed : sql.begin((tx) => setAllAside(tx, passed.state, passed.last, cause)));",
    tests: [aside],
  },
  {
    name: "a schedule that is deleted in quarantine leaves a range in the ledger",
    file: "lib/plan/edit.ts",
    text: "    await noteOwedUnread(tx, found, cut);\n",
    replacement: "",
    tests: ["test/poison/unread-ledger.test.ts"],
  },
  {
    name: "an entry keeps from which occurrence its schedule goes on",
    file: "lib/plan/aside.ts",
    text: "return { item: scheduleId, scheduleId, error, detail };",
    replacement: "return { item: scheduleId, scheduleId, error };",
    tests: [aside],
  },
  {
    name: "a retry goes on from the occurrence that was passed over",
    file: "lib/tick/retry-plans.ts",
    text: "of owedOf(schedule)) {",
    replacement: "of owedOf(schedule).slice(1)) {",
    tests: [aside],
  },
  {
    name: "the place of a walk is moved when its members have been changed",
    file: "lib/plan/walk-members.ts",
    text: "const changed = await changePage(deps, hold, page, bounds);",
    replacement:
      "const to = page.at(-1);\n    if (to !== undefined) await moveReached(deps.sql, hold, to.place);\n    const changed = await changePage(deps, hold, page, bounds);",
    tests: [house],
  },
  {
    name: "a wanted hold is forgotten by the transaction that holds its schedule",
    file: "lib/plan/wanted-holds.ts",
    text: "const found = await findScheduleById(deps.sql, wanted.scheduleId);",
    replacement:
      "const found = await findScheduleById(deps.sql, wanted.scheduleId);\n  await forget(deps.sql, wanted);",
    tests: [house],
  },
];
