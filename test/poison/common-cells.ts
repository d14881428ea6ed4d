import type { OutOfReach, ShownBy } from "./cell.ts";

/** Parts of rows that many consumers have in common. */

export const because = (reason: string): OutOfReach => ({ because: reason });
export const by = (file: string, title: string): ShownBy => ({ file, title });

export const aside = { row: "is set aside" } as const;
export const done = { row: "is done" } as const;
export const waits = { row: "waits" } as const;

const noSchema = because(
  "It reads no payload: schemas are asked where commands come in, and before a handler runs.",
);

const noPayload = {
  throwingSchema: noSchema,
  rejectingSchema: noSchema,
  slowSchema: noSchema,
  mutatingHandler: because("No handler runs in it."),
};

const storedTarget = {
  endlessTarget: because(
    "Targets are measured where commands come in, so that none that is stored is longer.",
  ),
};

/** Of what runs in the tick, or after it, with what is stored. */
export const ofStoredRows = { ...noPayload, ...storedTarget };

const reads = because("It reads instants that are stored, and no cadence.");

export const noCadence = { unknownZone: reads, unreadableCadence: reads, largeCalendar: reads };

export const oneByOne = {
  largeCalendar: because("It reads one schedule at a time, and so one calendar."),
  longHold: because("It acts on one schedule at a time, whatever holds it and for how long."),
};

export const noHold = {
  longHold: because(
    "A hold is a column of the schedule here: neither its length nor its members cost anything.",
  ),
};

export const noDay = { missingDay: because("It reads and writes no table of a day.") };

export const plansOnDaysThatAre = {
  missingDay: by(
    "tick/near-line.test.ts",
    "the near line is not raised while the days behind it cannot be attached",
  ),
};

export const readOnce = (title: string) => ({ largeCalendar: by("poison/calendar.test.ts", title) });

/** Of the three ways in, which share how a command is read and applied. */
export const ofEachWayIn = {
  unknownZone: by(
    "poison/plan-waits.test.ts",
    "A schedule (%s) that cannot be read is patched, beside others, and goes on in its zone",
  ),
  unreadableCadence: by(
    "poison/plan-waits.test.ts",
    "A schedule (%s) that cannot be read is patched, beside others, and goes on in its zone",
  ),
  mutatingHandler: because("A handler runs in the worker alone."),
  ...readOnce("Schedules by a calendar of 50 KB are edited in one batch with others, which reads it once"),
  longHold: because(
    "A command holds one schedule. A hold of many is carried to them by the consumer shared-hold.",
  ),
  ...plansOnDaysThatAre,
};
