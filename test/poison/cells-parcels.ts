import type { Matrix } from "./cell.ts";
import { aside, because, by, noCadence, noDay, noHold, ofStoredRows, waits } from "./common-cells.ts";

const ofParcels = { ...ofStoredRows, ...noCadence, ...noHold, unwritable: aside, slow: aside } as const;

/** The sweep skips a locked row, and the next sweep handles it. */
const passedOver = { locked: waits } as const;

/** The message comes again, or the parcel is offered again when its lease has ended. */
const comesAgain = { unwritable: waits, locked: waits, slow: waits } as const;

const missingDay = (title: string) => ({ missingDay: by("poison/missing-day.test.ts", title) });

/** The sweep, the claim and the settle of parcels. */
export const parcelCells = {
  lease: {
    ...ofParcels,
    ...passedOver,
    ...missingDay(
      "A parcel whose day of jobs is missing when its lease ends is dropped, and the others are offered again",
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
      "a handler whose schema throws for a payload fails that job alone",
    ),
    rejectingSchema: by(
      "poison/schemas.test.ts",
      "A schema that %s fails its job at once, and its neighbour succeeds",
    ),
    slowSchema: by(
      "poison/schemas.test.ts",
      "A schema that takes ten seconds delays its job and the next one by no more than that",
    ),
    mutatingHandler: by(
      "target/odd-handlers.test.ts",
      "a handler that changes its dates and throws has its job retried, and the other job succeeds",
    ),
    ...missingDay(
      "A parcel whose day of jobs is missing is dropped by its claim, and the other parcels are worked",
    ),
  },
  settle: {
    ...ofStoredRows,
    ...noCadence,
    ...comesAgain,
    mutatingHandler: by(
      "target/odd-handlers.test.ts",
      "a handler that changes its dates and asks for a recheck gets it at the requested time",
    ),
    longHold: because(
      "A job with a retry waits for the hold of its schedule, not for other members of the hold.",
    ),
    ...missingDay(
      "A parcel whose day of jobs disappears while it is worked is settled, and so are the others",
    ),
  },
} satisfies Partial<Matrix>;
