import type { Matrix } from "./cell.ts";
import { aside, because, by, noCadence, noDay, noHold, ofStoredRows, waits } from "./common-cells.ts";

const ofParcels = { ...ofStoredRows, ...noCadence, ...noHold, unwritable: aside, slow: aside } as const;

/** It is not waited for: the sweep passes over what is locked, and the next one has it. */
const passedOver = { locked: waits } as const;

/** The message comes again, or the parcel when its lease has ended. */
const comesAgain = { unwritable: waits, locked: waits, slow: waits } as const;

const missingDay = (title: string) => ({ missingDay: by("poison/missing-day.test.ts", title) });

/** What sweeps parcels, claims and settles them. */
export const parcelCells = {
  lease: {
    ...ofParcels,
    ...passedOver,
    ...missingDay(
      "A parcel whose day of jobs is missing when its lease ends is given up, and the others are offered again",
    ),
  },
  offer: { ...ofParcels, ...passedOver, ...noDay },
  lane: { ...ofParcels, locked: aside, ...noDay },
  turn: { ...ofParcels, ...passedOver, ...noDay },
  claim: {
    ...ofStoredRows,
    ...noCadence,
    ...noHold,
    ...comesAgain,
    unwritable: aside,
    throwingSchema: by(
      "target/handler-target.test.ts",
      "whose schema throws at a payload has failed, and its neighbours have not",
    ),
    rejectingSchema: by(
      "poison/schemas.test.ts",
      "A schema that %s fails its job at once, and its neighbour succeeds",
    ),
    slowSchema: by(
      "poison/schemas.test.ts",
      "A schema that takes ten seconds keeps its job and its neighbour only for so long",
    ),
    mutatingHandler: by(
      "target/odd-handlers.test.ts",
      "and throws has its job tried again, and its neighbour succeeds",
    ),
    ...missingDay(
      "A parcel whose day of jobs is missing is given up by its claim, and the other parcels are worked",
    ),
  },
  settle: {
    ...ofStoredRows,
    ...noCadence,
    ...comesAgain,
    mutatingHandler: by(
      "target/odd-handlers.test.ts",
      "and asks to be checked again is checked at the time that it gave",
    ),
    longHold: because(
      "A job that would be tried again waits for the hold of its schedule, and for no member of it.",
    ),
    ...missingDay(
      "A parcel whose day of jobs goes missing while it is worked is settled, and so are the others",
    ),
  },
} satisfies Partial<Matrix>;
