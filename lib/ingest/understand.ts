import { v5 as uuidv5 } from "uuid";
import type { Operation } from "../batch/operation.ts";
import { readCommands } from "../command/apply-commands.ts";
import { Refusal, type Refused } from "../refusal.ts";
import { type Caller, reachOf } from "../schedule/shape/caller.ts";
import type { IngestDeps } from "./ingest-deps.ts";
import type { Kept, Stamped } from "./memory.ts";
import type { Received } from "./received.ts";
import { stampOf } from "./stamp.ts";
import { queueName } from "./standing.ts";

/** A command that can be applied. */
export interface Understood extends Stamped {
  received: Received;
}

/** Which keys are taken: those with the queue's prefix, if `refuseKey` lets them through too. */
type Understanding = Pick<IngestDeps, "acceptance" | "prefix"> & { refuseKey?: (key: string) => void };

export interface Refusing {
  received: Received;
  key: string | null;
  refusal: Refused;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** How long a mark is kept; SQS keeps a message for fourteen days. */
export const rememberedDays = 15;
const aheadMaxMs = 5 * minuteMs;

/** Reads commands; the readable ones are returned in the order in which they were given. */
export function understand(
  deps: Understanding,
  received: readonly Received[],
  now: Date,
  as: Caller = { name: queueName, origin: { via: "queue" } },
): { understood: Understood[]; refused: Refusing[] } {
  const understood: Understood[] = [];
  const refused: Refusing[] = [];
  for (const each of received) {
    const read = operationOf(deps, each, now, as);
    if ("refusal" in read) refused.push({ received: each, ...read });
    else understood.push({ received: each, ...stamped(each, read.operation) });
  }
  return { understood: understood.sort((a, b) => (a.stamp < b.stamp ? -1 : 1)), refused };
}

function stamped({ place, id, at, input }: Received, operation: Operation): Stamped {
  const stamp = stampOf({ at, place, kind: operation.kind, id });
  return { stamp, operation, kept: { stamp, id, at: at.toISOString(), input } };
}

/** The operation of an earlier command that is repeated because an older one arrived after it. */
export function operationAgain(
  deps: Understanding,
  kept: Pick<Kept, "id" | "at" | "input">,
  now: Date,
  as: Caller = { name: queueName, origin: { via: "queue" } },
): Operation | null {
  const at = new Date(kept.at);
  const read = operationOf(deps, { id: kept.id, at, input: kept.input, sentAt: at }, now, as);
  return "operation" in read ? read.operation : null;
}

function operationOf(
  { acceptance, prefix, refuseKey }: Understanding,
  { id, at, input, sentAt }: Pick<Received, "id" | "at" | "input" | "sentAt">,
  now: Date,
  as: Caller,
): { operation: Operation } | { key: string | null; refusal: Refused } {
  const caller: Caller = {
    ...as,
    reach: as.reach ?? reachOf(prefix),
    origin: { via: "queue", ...as.origin, request: id },
  };
  const [read] = readCommands(
    [
      {
        input,
        caller,
        countFrom: at,
        // Derived from the id, so that a command that arrives twice is still one job.
        newKey: () => `${prefix ?? ""}job:${uuidv5(id, jobKeys)}`,
        refuseKey: (key) => {
          refuseForeign(prefix, key);
          refuseKey?.(key);
        },
      },
    ],
    acceptance,
  );
  if (read === undefined) throw new Error("A command was not read.");
  if ("refusal" in read) return read;
  const fault = timeFault(at, sentAt, now);
  if (fault !== null)
    return {
      key: read.operation.key,
      refusal: {
        kind: "invalid",
        message: "The command is not understood.",
        faults: [{ path: "at", message: fault }],
      },
    };
  return { operation: read.operation };
}

const jobKeys = "6c1a3f0e-52a8-4d19-9a55-1f0f0a3c2d77";

function refuseForeign(prefix: string | null, key: string): void {
  if (prefix === null || key.startsWith(prefix)) return;
  throw new Refusal("forbidden", `This queue reaches keys that begin with ${JSON.stringify(prefix)}.`);
}

/**
 * A time far ahead would make every command until then late. For a time long ago, the marks of
 * later commands may be forgotten.
 */
function timeFault(at: Date, sentAt: Date, now: Date): string | null {
  const latest = Math.max(sentAt.getTime(), now.getTime()) + aheadMaxMs;
  if (at.getTime() > latest) return "lies in the future: it is when the command was given";
  if (at.getTime() < now.getTime() - rememberedDays * dayMs)
    return `is more than ${rememberedDays} days ago: later commands of the key may be forgotten`;
  return null;
}
