import type { OutOfReach, ShownBy } from "./cell.ts";

/** Cells that many consumers share. */

export const because = (reason: string): OutOfReach => ({ because: reason });
export const by = (file: string, title: string): ShownBy => ({ file, title });

export const aside = { row: "is set aside" } as const;
export const done = { row: "is done" } as const;
export const waits = { row: "waits" } as const;

const noSchema = because(
  "It reads no payload: schemas are checked where commands come in, and before a handler runs.",
);

const noPayload = {
  throwingSchema: noSchema,
  rejectingSchema: noSchema,
  slowSchema: noSchema,
  mutatingHandler: because("No handler runs in it."),
};

const storedTarget = {
  endlessTarget: because(
    "The length of targets is checked where commands come in, so no stored one is longer.",
  ),
};

/** Cells of consumers that run in the tick, or after it, on stored rows. */
export const ofStoredRows = { ...noPayload, ...storedTarget };

const reads = because("It reads stored instants, and no cadence.");

export const noCadence = { unknownZone: reads, unreadableCadence: reads, largeCalendar: reads };

export const oneByOne = {
  largeCalendar: because("It reads one schedule at a time, and so one calendar."),
  longHold: because("It acts on one schedule at a time, under any hold of any length."),
};

export const noHold = {
  longHold: because("A hold is a column of the schedule here: its length and its members cost nothing."),
};

export const noDay = { missingDay: because("It reads and writes no table of a day.") };

export const plansOnDaysThatAre = {
  missingDay: by(
    "tick/near-line.test.ts",
    "The near line is not raised while the days before the new line cannot be attached",
  ),
};

export const readOnce = (title: string) => ({ largeCalendar: by("poison/calendar.test.ts", title) });

/** Cells of the three ways in, which read and apply a command by the same code. */
export const ofEachWayIn = {
  unknownZone: by(
    "poison/plan-waits.test.ts",
    "A schedule (%s) that cannot be read is patched with others, and continues in its new zone",
  ),
  unreadableCadence: by(
    "poison/plan-waits.test.ts",
    "A schedule (%s) that cannot be read is patched with others, and continues in its new zone",
  ),
  mutatingHandler: because("A handler runs only in the worker."),
  ...readOnce("Schedules with a calendar of 50 KB are edited in one batch with others, which reads it once"),
  longHold: because(
    "A command holds one schedule. A shared hold is set on its members by the consumer shared-hold.",
  ),
  ...plansOnDaysThatAre,
};
