import type { Matrix } from "./cell.ts";
import { by, ofEachWayIn } from "./common-cells.ts";

const hanging = by(
  "poison/inbox.test.ts",
  "A command that hangs in the database is set aside, and the others are applied by the same tick",
);

const queued = by(
  "poison/ingest.test.ts",
  "A command on which a trigger %s does not stop other messages, and only its message becomes a dead letter",
);

const inInbox = by(
  "inbox/odd-schemas.test.ts",
  "a tick refuses each command whose payload's schema fails, and applies and fires the others",
);

const inQueue = by(
  "ingest/odd-schemas.test.ts",
  "in a batch of messages each command whose payload's schema fails is dead, and the others are applied",
);

const inBatch = by(
  "poison/schemas.test.ts",
  "An operation of a batch whose schema fails (%s) is refused at once, and the others are done",
);

const waitedForALock = by(
  "poison/batch.test.ts",
  "An operation of a batch that waits for a lock is answered 503 with the seconds to wait, and the others are done",
);

/** The three ways in which commands come. */
export const wayInCells = {
  inbox: {
    ...ofEachWayIn,
    unwritable: by(
      "poison/inbox.test.ts",
      "When the first hundred and fifty commands fail in the database, the same tick applies the ones after them, and the failed ones are applied once repaired",
    ),
    locked: hanging,
    slow: hanging,
    endlessTarget: by(
      "poison/targets.test.ts",
      "A command of the inbox whose target is too long is refused with its path, and the others are applied",
    ),
    throwingSchema: inInbox,
    rejectingSchema: inInbox,
    slowSchema: by(
      "poison/schemas.test.ts",
      "Inbox commands whose schema takes ten seconds are read while there is time, and the read ones are applied",
    ),
  },
  ingest: {
    ...ofEachWayIn,
    unwritable: queued,
    locked: queued,
    slow: queued,
    endlessTarget: by(
      "poison/targets.test.ts",
      "A command of a queue whose target is too long is dead with its path, and the others are applied",
    ),
    throwingSchema: inQueue,
    rejectingSchema: inQueue,
    slowSchema: by(
      "poison/schemas.test.ts",
      "Messages whose schema takes ten seconds are read while there is time, and the read ones are applied",
    ),
  },
  batch: {
    ...ofEachWayIn,
    unwritable: by(
      "poison/batch.test.ts",
      "An operation of a batch that fails inside Carillon is answered 500 with the request's id, and the others are done",
    ),
    locked: waitedForALock,
    slow: waitedForALock,
    endlessTarget: by(
      "api/odd-fields.test.ts",
      "An odd text in any field fails only its operation, with its path",
    ),
    throwingSchema: inBatch,
    rejectingSchema: inBatch,
    slowSchema: by(
      "poison/schemas.test.ts",
      "An operation of a batch whose schema takes ten seconds is done after it, and the others too",
    ),
  },
} satisfies Partial<Matrix>;
