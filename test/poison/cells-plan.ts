import type { Matrix } from "./cell.ts";
import {
  aside,
  because,
  by,
  done,
  noCadence,
  noDay,
  noHold,
  ofStoredRows,
  oneByOne,
  plansOnDaysThatAre,
  readOnce,
  waits,
} from "./common-cells.ts";

const missingDay = (title: string) => ({ missingDay: by("poison/missing-day.test.ts", title) });

const longHold = by(
  "poison/long-hold.test.ts",
  "A hold of a year on a thousand members is set on all by one tick, and ends for all, while other schedules fire on time",
);

const caughtUp = missingDay(
  "Catch-up over a missing day of jobs runs every occurrence, at once or through the backlog",
);

/**
 * In a batch of a shard, a row that cannot be written or read is set aside together with the
 * watermark.
 */
const ofABatch = {
  ...ofStoredRows,
  unwritable: aside,
  locked: aside,
  // In a tick each attempt has eight seconds.
  slow: by("tick/too-long.test.ts", "A batch that hangs on a row is cancelled, and retried with fewer rows"),
  unknownZone: aside,
  unreadableCadence: aside,
} as const;

const fails = { ...ofStoredRows, unwritable: aside, locked: aside, slow: aside } as const;
const needsNoCadence = { unknownZone: done, unreadableCadence: done } as const;
const needsItsCadence = { unknownZone: aside, unreadableCadence: aside } as const;

/** Consumers that plan schedules. */
export const planCells = {
  plan: {
    ...ofABatch,
    ...readOnce(
      "Schedules with a calendar of 50 KB (%s) fire in one batch with others, and the batch reads the calendar once",
    ),
    longHold: because("A row due under a hold is ignored; the end of a hold is a release."),
    ...missingDay("A tick that finds a day of jobs missing attaches the day, and fires its jobs"),
  },
  release: {
    ...ofABatch,
    ...readOnce(
      "Schedules with a calendar of 50 KB are released together with others when their hold of eight days ends",
    ),
    longHold,
    ...missingDay(
      "Occurrences due under a hold on a missing day of jobs are released at its end, and other schedules fire",
    ),
  },
  near: {
    ...ofStoredRows,
    ...noCadence,
    unwritable: aside,
    locked: aside,
    slow: by(
      "poison/far-rows.test.ts",
      "A far row on which statements hang is set aside, and its neighbours come near",
    ),
    unknownZone: done,
    unreadableCadence: done,
    ...noHold,
    missingDay: by(
      "poison/far-rows.test.ts",
      "A far row that %s (plans kept: %s) is set aside by the tick that brings it near, and its schedule fires with its neighbours",
    ),
  },
  "catch-up": {
    ...ofABatch,
    ...readOnce(
      "Schedules with a calendar of 50 KB are caught up together with others after a day without a tick",
    ),
    longHold: because("Occurrences due under a hold are released, which is not a catch-up."),
    ...caughtUp,
  },
  backlog: {
    ...fails,
    ...noCadence,
    locked: waits,
    longHold: because("A row of a held schedule is postponed by a minute, and not read further."),
    ...caughtUp,
  },
} satisfies Partial<Matrix>;

/** Consumers that apply holds, calendars and zones to schedules, and delete ended ones. */
export const houseCells = {
  ended: {
    ...fails,
    unknownZone: waits,
    unreadableCadence: waits,
    ...readOnce(
      "Ended schedules with a calendar of 50 KB are deleted together with others, and the calendar is read once",
    ),
    longHold: because("A held schedule is not over: it is checked when its hold ends."),
    ...missingDay("Ended schedules are deleted, also one whose day of jobs is missing"),
  },
  purge: {
    ...fails,
    unknownZone: because("It only reads cadences that are lists of instants, which have no zone."),
    unreadableCadence: by(
      "poison/purge.test.ts",
      "A schedule whose cadence cannot be read is not marked as over",
    ),
    ...readOnce(
      "Schedules with a calendar of 50 KB that are over are marked for the purge together with others, and the calendar is read once",
    ),
    longHold: because("A held schedule is not over under any hold."),
    missingDay: because("It reads the existing days: a missing one keeps no schedule."),
  },
  follower: { ...fails, ...needsNoCadence, ...oneByOne, ...noDay },
  "ended-hold": {
    ...fails,
    ...needsNoCadence,
    ...noDay,
    ...readOnce(
      "Schedules with a calendar of 50 KB are released together with others when their hold of eight days ends",
    ),
    longHold,
  },
  "wanted-hold": { ...fails, ...needsNoCadence, ...oneByOne, ...plansOnDaysThatAre },
  "shared-hold": {
    ...fails,
    ...needsNoCadence,
    ...readOnce(
      "A hold of a group is set on members with a calendar of 50 KB together with others, and the calendar is read once",
    ),
    longHold,
    ...plansOnDaysThatAre,
  },
  "calendar-replan": {
    ...fails,
    ...needsItsCadence,
    ...readOnce("Schedules with a calendar of 50 KB are replanned by the tick after its edit"),
    longHold: oneByOne.longHold,
    ...plansOnDaysThatAre,
  },
  "zone-replan": {
    ...fails,
    ...needsItsCadence,
    largeCalendar: because(
      "It reads a hundred schedules at a time as all consumers do, and their calendar once.",
    ),
    longHold: oneByOne.longHold,
    ...plansOnDaysThatAre,
  },
  outbox: {
    ...ofStoredRows,
    ...noCadence,
    ...noHold,
    ...eventCells(),
    missingDay: because("An event of a job that is gone is sent without the data of the job's row."),
  },
  pulses: { ...ofStoredRows, ...noCadence, ...noHold, ...noDay, ...pulseCells() },
} satisfies Partial<Matrix>;

function eventCells() {
  const shown = by(
    "poison/outbox-and-pulses.test.ts",
    "An event that cannot be deleted, because its row is %s, is sent again, and the other events are sent once",
  );
  return { unwritable: shown, locked: shown, slow: shown };
}

function pulseCells() {
  const shown = by(
    "poison/outbox-and-pulses.test.ts",
    "A shard whose pulses cannot be made, because a row is %s, does not stop other shards, and makes them once repaired",
  );
  return { unwritable: shown, locked: shown, slow: shown };
}
