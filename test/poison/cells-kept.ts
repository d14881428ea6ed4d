import type { Matrix } from "./cell.ts";
import { because, by, noCadence, noDay, noHold, ofStoredRows } from "./common-cells.ts";

const asUnwritable = because(
  "A statement that takes too long is rolled back as one that fails is, and the same list is halved or gone on with.",
);

const kept = { ...ofStoredRows, ...noCadence, ...noHold, slow: asUnwritable } as const;

const forgotten = by(
  "poison/forget.test.ts",
  "An old row of %s that cannot be deleted (%s) keeps no other from going in the same tick, is in quarantine, and goes once mended",
);

/** Rows of counts and of targets, which the tick adds up, notes and deletes, and old rows of other tables, which it deletes. */
export const rowCells = {
  forget: { ...kept, ...noDay, unwritable: forgotten, locked: forgotten, slow: forgotten },
  tally: {
    ...kept,
    ...noDay,
    unwritable: by(
      "poison/tally.test.ts",
      "A row of %s that cannot be added keeps no other from it, is in quarantine, and is added once mended",
    ),
    locked: by(
      "poison/tally.test.ts",
      "No row of counts is blamed for the lock of a minute, and the tick fails",
    ),
  },
  target: {
    ...kept,
    ...noDay,
    unwritable: by(
      "poison/target.test.ts",
      "A schedule whose target cannot be noted keeps no other from it, is in quarantine, and goes on once mended",
    ),
    locked: by(
      "poison/target.test.ts",
      "More schedules than a page has, each of which is being edited, keep none behind them from their targets",
    ),
    endlessTarget: by(
      "poison/target.test.ts",
      "A schedule whose target's name is %s keeps no other from its own",
    ),
  },
  "unused-target": {
    ...kept,
    ...noDay,
    unwritable: by(
      "poison/unused-target.test.ts",
      "A target that cannot be deleted keeps no other from being deleted, is in quarantine, and is deleted once mended",
    ),
    locked: by(
      "retention/targets.test.ts",
      "a target that is locked is passed over by the mark, and its neighbours are marked",
    ),
  },
} satisfies Partial<Matrix>;

const daysThereAre = { missingDay: because("It is given the days that there are.") };

/** Whole days, which the archive takes and the tick drops. */
export const dayCells = {
  archive: {
    ...kept,
    ...daysThereAre,
    unwritable: by(
      "poison/days.test.ts",
      "A day that the archive cannot take keeps no other from it, is not dropped meanwhile, and goes once mended",
    ),
    locked: by(
      "poison/days.test.ts",
      "A day whose jobs cannot be read for the archive keeps no other from it",
    ),
  },
  "day-drop": {
    ...kept,
    ...daysThereAre,
    unwritable: by(
      "poison/days.test.ts",
      "A day of the table %s that cannot be dropped keeps no other, is in quarantine, and goes once mended",
    ),
    locked: by(
      "poison/days.test.ts",
      "A day of the table %s that another transaction reads keeps no other from going, and is not blamed",
    ),
  },
  "day-look": {
    ...kept,
    ...daysThereAre,
    unwritable: because("It writes one row for its day, in a table that no caller and no other part writes."),
    locked: by(
      "poison/days.test.ts",
      "A day whose jobs cannot be looked at keeps no other from going, is in quarantine, and goes once mended",
    ),
  },
} satisfies Partial<Matrix>;
