import type { Matrix } from "./cell.ts";
import { by, ofEachWayIn } from "./common-cells.ts";

const hanging = by(
  "poison/inbox.test.ts",
  "A command that hangs in the database is found and set aside, and those beside it are applied by the same tick",
);

const queued = by(
  "poison/ingest.test.ts",
  "A command on which a trigger %s keeps none of the messages beside it, and its message alone becomes a dead letter",
);

const inInbox = by(
  "inbox/odd-schemas.test.ts",
  "a tick refuses each command whose payload's schema fails, and applies and fires the others",
);

const inQueue = by(
  "ingest/odd-schemas.test.ts",
  "of a batch of messages each command whose payload's schema fails is dead, and the others are applied",
);

const inBatch = by(
  "poison/schemas.test.ts",
  "A schema that fails (%s) has its operation of a batch refused at once, and the others are done",
);

const waitedForALock = by(
  "poison/batch.test.ts",
  "An operation of a batch that waits for a lock is answered 503 with the seconds to wait, and its neighbours are done",
);

/** The three ways in which commands come. */
export const wayInCells = {
  inbox: {
    ...ofEachWayIn,
    unwritable: by(
      "poison/inbox.test.ts",
      "A hundred and fifty commands at the front that fail in the database keep none behind them from the same tick, and are applied by themselves once it is mended",
    ),
    locked: hanging,
    slow: hanging,
    endlessTarget: by(
      "poison/targets.test.ts",
      "A command of the inbox with a target beyond any bound is refused with its path, and the others are applied",
    ),
    throwingSchema: inInbox,
    rejectingSchema: inInbox,
    slowSchema: by(
      "poison/schemas.test.ts",
      "Commands of the inbox whose schema takes ten seconds are read while there is time, and what was read is applied",
    ),
  },
  ingest: {
    ...ofEachWayIn,
    unwritable: queued,
    locked: queued,
    slow: queued,
    endlessTarget: by(
      "poison/targets.test.ts",
      "A command of a queue with a target beyond any bound is dead with its path, and the others are applied",
    ),
    throwingSchema: inQueue,
    rejectingSchema: inQueue,
    slowSchema: by(
      "poison/schemas.test.ts",
      "Messages whose schema takes ten seconds are read while there is time, and what was read is applied",
    ),
  },
  batch: {
    ...ofEachWayIn,
    unwritable: by(
      "poison/batch.test.ts",
      "An operation of a batch on which Carillon fails is answered 500 in its place with the request's id, and its neighbours are done",
    ),
    locked: waitedForALock,
    slow: waitedForALock,
    endlessTarget: by(
      "api/odd-fields.test.ts",
      "where any of its fields has an odd text, whose path is told",
    ),
    throwingSchema: inBatch,
    rejectingSchema: inBatch,
    slowSchema: by(
      "poison/schemas.test.ts",
      "A schema that takes ten seconds has its operation of a batch done after it, and the others too",
    ),
  },
} satisfies Partial<Matrix>;
