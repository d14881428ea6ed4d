import type { Matrix } from "./cell.ts";
import { because, by, noCadence, noDay, noHold, ofStoredRows } from "./common-cells.ts";

const asUnwritable = because(
  "A statement that takes too long is rolled back like one that fails, and its list is halved or continued.",
);

const kept = { ...ofStoredRows, ...noCadence, ...noHold, slow: asUnwritable } as const;

const forgotten = by(
  "poison/forget.test.ts",
  "An old row of %s that cannot be deleted (%s) is set aside, the others are deleted in the same tick, and it is deleted once repaired",
);

/** Rows of counts and of targets, and old rows of other tables, which the tick deletes. */
export const rowCells = {
  forget: { ...kept, ...noDay, unwritable: forgotten, locked: forgotten, slow: forgotten },
  tally: {
    ...kept,
    ...noDay,
    unwritable: by(
      "poison/tally.test.ts",
      "A row of %s that cannot be added is set aside, does not stop the others, and is added once repaired",
    ),
    locked: by(
      "poison/tally.test.ts",
      "If the lock of a minute is not granted, the tick fails and sets no row of counts aside",
    ),
  },
  target: {
    ...kept,
    ...noDay,
    unwritable: by(
      "poison/target.test.ts",
      "A schedule whose target cannot be set is set aside, does not stop the others, and gets its target once repaired",
    ),
    locked: by(
      "poison/target.test.ts",
      "More than a page of schedules under edit do not stop later ones from getting their targets",
    ),
    endlessTarget: by(
      "poison/target.test.ts",
      "A schedule whose target's name is %s does not stop others from getting their targets",
    ),
  },
  "unused-target": {
    ...kept,
    ...noDay,
    unwritable: by(
      "poison/unused-target.test.ts",
      "A target that cannot be deleted is set aside, does not stop the others, and is deleted once repaired",
    ),
    locked: by("retention/targets.test.ts", "a locked target is not marked as unused, and the others are"),
  },
} satisfies Partial<Matrix>;

const daysThereAre = { missingDay: because("It works on a list of existing days.") };

/** Whole days, which the archive copies and the tick drops. */
export const dayCells = {
  archive: {
    ...kept,
    ...daysThereAre,
    unwritable: by(
      "poison/days.test.ts",
      "A day that cannot be archived does not stop the others, is not dropped meanwhile, and is archived once possible",
    ),
    locked: by(
      "poison/days.test.ts",
      "A day whose jobs cannot be read does not stop the archive of other days",
    ),
  },
  "day-drop": {
    ...kept,
    ...daysThereAre,
    unwritable: by(
      "poison/days.test.ts",
      "A day of the table %s that cannot be dropped is set aside, does not stop the others, and is dropped once repaired",
    ),
    locked: by(
      "poison/days.test.ts",
      "A day of the table %s that another transaction reads does not stop the others, and is not set aside",
    ),
  },
  "day-look": {
    ...kept,
    ...daysThereAre,
    unwritable: because("It writes one row for its day, in a table that no caller and no other part writes."),
    locked: by(
      "poison/days.test.ts",
      "A day whose jobs cannot be checked is set aside, does not stop the others, and is dropped once repaired",
    ),
  },
} satisfies Partial<Matrix>;
