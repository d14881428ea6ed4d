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
  "A hold of a year over a thousand members is carried to all of them by one tick, and ends for all of them, beside others",
);

const caughtUp = missingDay(
  "A schedule that is caught up with over a day of jobs that is missing loses nothing, nor do others",
);

/** Of a batch of a shard: what cannot be written, or be read, is set aside with the watermark. */
const ofABatch = {
  ...ofStoredRows,
  unwritable: aside,
  locked: aside,
  // In a tick each attempt has eight seconds.
  slow: by("tick/too-long.test.ts", "A batch that hangs on a row is given up, and fewer rows are tried"),
  unknownZone: aside,
  unreadableCadence: aside,
} as const;

const fails = { ...ofStoredRows, unwritable: aside, locked: aside, slow: aside } as const;
const needsNoCadence = { unknownZone: done, unreadableCadence: done } as const;
const needsItsCadence = { unknownZone: aside, unreadableCadence: aside } as const;

/** What plans schedules. */
export const planCells = {
  plan: {
    ...ofABatch,
    ...readOnce("Schedules by a calendar of 50 KB (%s) fire beside others, and a batch reads it once"),
    longHold: because("What is due under a hold dies unread; the end of a hold is a release."),
    ...missingDay(
      "A shard of which a day of jobs is missing fires in the tick that finds it so, beside the others",
    ),
  },
  release: {
    ...ofABatch,
    ...readOnce("Schedules by a calendar of 50 KB whose hold of eight days ends are released beside others"),
    longHold,
    ...missingDay(
      "What was due under a hold on a day of jobs that is missing is released at its end, beside others",
    ),
  },
  near: {
    ...ofStoredRows,
    ...noCadence,
    unwritable: aside,
    locked: aside,
    slow: by(
      "poison/far-rows.test.ts",
      "A far row on which statements hang is given up and set aside, and those beside it come near",
    ),
    unknownZone: done,
    unreadableCadence: done,
    ...noHold,
    missingDay: by(
      "poison/far-rows.test.ts",
      "A far row that %s (plans kept: %s) is set aside by the tick that brings it near, and its schedule fires with those beside it",
    ),
  },
  "catch-up": {
    ...ofABatch,
    ...readOnce(
      "Schedules by a calendar of 50 KB are caught up with beside others after a day without a tick",
    ),
    longHold: because("What was due under a hold is released, and not caught up with."),
    ...caughtUp,
  },
  backlog: {
    ...fails,
    ...noCadence,
    locked: waits,
    longHold: because("A row of a held schedule is put off by a minute, and is read no further."),
    ...caughtUp,
  },
} satisfies Partial<Matrix>;

/** What carries holds, calendars and zones to schedules, and looks after those that are over. */
export const houseCells = {
  ended: {
    ...fails,
    unknownZone: waits,
    unreadableCadence: waits,
    ...readOnce(
      "Schedules by a calendar of 50 KB that have ended are deleted with others, and are read with it once",
    ),
    longHold: because("A held schedule is not over: it is looked at when its hold ends."),
    ...missingDay("A schedule that has ended and whose day of jobs is missing is deleted, and so are others"),
  },
  purge: {
    ...fails,
    unknownZone: because("It reads the cadences of lists of instants alone, which are in no zone."),
    unreadableCadence: by(
      "poison/purge.test.ts",
      "A schedule whose cadence cannot be read is not noted as over",
    ),
    ...readOnce(
      "Schedules by a calendar of 50 KB that are over are noted so with others, and are read with it once",
    ),
    longHold: because("A held schedule is not over, whatever holds it."),
    missingDay: because("It asks which days there are: one that is not there keeps no schedule."),
  },
  follower: { ...fails, ...needsNoCadence, ...oneByOne, ...noDay },
  "ended-hold": {
    ...fails,
    ...needsNoCadence,
    ...noDay,
    ...readOnce("Schedules by a calendar of 50 KB whose hold of eight days ends are released beside others"),
    longHold,
  },
  "wanted-hold": { ...fails, ...needsNoCadence, ...oneByOne, ...plansOnDaysThatAre },
  "shared-hold": {
    ...fails,
    ...needsNoCadence,
    ...readOnce(
      "A hold is carried to members by a calendar of 50 KB with others, which are read with it once",
    ),
    longHold,
    ...plansOnDaysThatAre,
  },
  "calendar-replan": {
    ...fails,
    ...needsItsCadence,
    ...readOnce("Schedules by a calendar of 50 KB that is edited are planned again by the next tick"),
    longHold: oneByOne.longHold,
    ...plansOnDaysThatAre,
  },
  "zone-replan": {
    ...fails,
    ...needsItsCadence,
    largeCalendar: because(
      "It reads a hundred schedules at a time as all consumers do, and a calendar with them once.",
    ),
    longHold: oneByOne.longHold,
    ...plansOnDaysThatAre,
  },
  outbox: {
    ...ofStoredRows,
    ...noCadence,
    ...noHold,
    ...untold(),
    missingDay: because("An event of a job that is gone is reported without what the job's row says."),
  },
  pulses: { ...ofStoredRows, ...noCadence, ...noHold, ...noDay, ...unmade() },
} satisfies Partial<Matrix>;

function untold() {
  const shown = by(
    "poison/outbox-and-pulses.test.ts",
    "An event that cannot be forgotten since its row is %s is reported again, and the events beside it are reported once",
  );
  return { unwritable: shown, locked: shown, slow: shown };
}

function unmade() {
  const shown = by(
    "poison/outbox-and-pulses.test.ts",
    "A shard whose pulses cannot be made since a row is %s keeps no other from its pulses, and makes them once mended",
  );
  return { unwritable: shown, locked: shown, slow: shown };
}
