import type { Mutant } from "../mutant.ts";

const unread = "test/poison/unread-edits.test.ts";
const aside = "test/crash/aside.test.ts";
const house = "test/crash/house.test.ts";
const near = "lib/tick/housekeeping/bring-near.ts";
const farRows = "test/poison/far-rows.test.ts";
const unreadable = "test/poison/unreadable-instants.test.ts";

/** Rules that a death must not break: rows in quarantine, and work over several transactions. */
export const asideRows: readonly Mutant[] = [
  {
    name: "an edit withdraws the jobs made ahead for a cadence that cannot be read",
    file: "lib/edit/end-version.ts",
    text: "if (unreadableReason(schedule.cadence) !== null) return withdrawUnread(tx, schedule, bounds);",
    replacement: "",
    tests: [unread],
  },
  {
    name: "occurrences due under a hold are kept when a cadence that cannot be read is edited",
    file: "lib/plan/aside.ts",
    text: "after.isHeld ? (before.heldSince ?? cut) : cut",
    replacement: "cut",
    tests: [unread],
  },
  {
    name: "a row that cannot be written is quarantined in the transaction that passes it over",
    file: "lib/tick/fire/shard-batch.ts",
    text: "    const aside = await setAllAside(tx, state, last, cause);\n    await raiseWatermark(tx, shard, last, horizon);\n    return aside;\n  });",
    replacement:
      "    await raiseWatermark(tx, shard, last, horizon);\n    return { state, last };\n  }).then((passed) => Array.isArray(passed) ? passed : sql.begin((tx) => setAllAside(tx, passed.state, passed.last, cause)));",
    tests: [aside],
  },
  {
    name: "a schedule that is deleted in quarantine leaves a range in the ledger",
    file: "lib/edit/apply-edit.ts",
    text: "  await noteOwedUnread(tx, found, { goesOnAs: edit.delete === true ? null : cadence, cut });\n",
    replacement: "",
    tests: ["test/poison/unread-ledger.test.ts"],
  },
  {
    name: "a quarantine entry keeps the occurrence from which its schedule continues",
    file: "lib/plan/aside.ts",
    text: "return { item: scheduleId, scheduleId, error, detail };",
    replacement: "return { item: scheduleId, scheduleId, error };",
    tests: [aside],
  },
  {
    name: "a retry continues from the occurrence that was passed over",
    file: "lib/tick/fire/retry-plans.ts",
    text: "of owedOf(schedule)) {",
    replacement: "of owedOf(schedule).slice(1)) {",
    tests: [aside],
  },
  {
    name: "the progress of a walk is written after its members have been changed",
    file: "lib/batch/members/walk-members.ts",
    text: "const changed = await changePage(deps, hold, members, bounds);",
    replacement:
      "const to = page.at(-1);\n    if (to !== undefined) await moveReached(deps.sql, hold, to.place);\n    const changed = await changePage(deps, hold, members, bounds);",
    tests: [house],
  },
  {
    name: "a wanted hold is deleted in the transaction that holds its schedule",
    file: "lib/edit/wanted-holds.ts",
    text: "const found = await findScheduleById(deps.sql, wanted.scheduleId);",
    replacement:
      "const found = await findScheduleById(deps.sql, wanted.scheduleId);\n  await forget(deps.sql, wanted);",
    tests: [house],
  },
  {
    name: "a failed step of moving far rows near is repeated with fewer rows",
    file: near,
    text: "rowsMax = Math.max(1, Math.floor(suspect / 8));",
    replacement: "throw error;",
    tests: [farRows],
  },
  {
    name: "a far row that was passed over is skipped by the later steps",
    file: near,
    text: "if (aside !== null) passed.push(error.row);",
    replacement: "if (aside !== null) return;",
    tests: [farRows],
  },
  {
    name: "the quarantine entry names a far row that cannot be deleted",
    file: near,
    text: "takesOut ? undefined : row.name",
    replacement: "undefined",
    tests: [farRows],
  },
  {
    name: "far rows that were passed over are not moved near with those of the next day",
    file: near,
    text: "const passed = await passedBefore(sql, shard);",
    replacement: "const passed: FarRow[] = [];",
    tests: [farRows],
  },
  {
    name: "a far row that hangs is reached even when each slice of the tick ends before it",
    file: near,
    text: "(suspect > 0 ? mustEnd() : timeIsUp())",
    replacement: "timeIsUp()",
    tests: [farRows],
  },
  {
    name: "a far row is passed over in a transaction that writes the row of its shard",
    file: near,
    text: "where s.id = ${shard} and p.due_at < ${target}`;",
    replacement: "where s.id = -1 and p.due_at < ${target}`;",
    tests: [farRows],
  },
  {
    name: "the retry deletes far rows that were passed over from their table",
    file: "lib/tick/fire/retry-plans.ts",
    text: "    schedules.filter(({ id }) => !waiting.has(id)),\n",
    replacement: "    [],\n",
    tests: [farRows],
  },
  {
    name: "a row whose occurrence cannot be read is quarantined with the first row due at the same time",
    file: "lib/plan/aside.ts",
    text: "began.get(row) ?? row.occurrence",
    replacement: "row.occurrence",
    tests: [unreadable],
  },
  {
    name: "a row whose occurrence cannot be read does not quarantine other rows of its cadence",
    file: "lib/tick/fire/look-ahead.ts",
    text: 'error: unreadableRow(), rows: "unreadable"',
    replacement: 'error: unreadableRow(), rows: "all"',
    tests: [unreadable],
  },
  {
    name: "an edit plans a row whose occurrence cannot be read from its due time",
    file: "lib/edit/end-version.ts",
    text: "const occurrence = readOccurrence(current, row);",
    replacement: "const { occurrence } = row;",
    tests: [unreadable],
  },
  {
    name: "a hold until infinity has no end for an edit of its schedule",
    file: "lib/schedule/stored/stored-schedule.ts",
    text: '${readableEnd(tx, tx`s.held_until`)} as "heldUntil"',
    replacement: 's.held_until as "heldUntil"',
    tests: [unreadable],
  },
];
