import { databaseClock } from "../db/database-clock.ts";
import { Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { applyChunk, type Outcome } from "./apply-chunk.ts";
import { deleteDeadCommand, isBeyondQueue, readDeadCommand } from "./dead-commands.ts";
import type { IngestDeps } from "./ingest-deps.ts";
import { commandWith } from "./received.ts";
import { queueName } from "./standing.ts";
import { understand } from "./understand.ts";

export interface DeadRetried {
  key: string;
  became: "created" | "changed" | "unchanged" | "deleted" | "passed-over";
}

/**
 * Tries a dead command again with its own id and time: if a newer command has arrived since, it is
 * passed over. Newer commands that are repeated after it get the rights of its caller too. The
 * transaction that applies it deletes the record. If it is refused again, the record stays, and the
 * refusal is thrown. The limit of its queue stays in force for every caller.
 */
export async function retryDead(
  deps: Omit<IngestDeps, "prefix">,
  { id, caller, refuseKey }: { id: string; caller: Caller; refuseKey: (key: string) => void },
): Promise<DeadRetried | null> {
  const dead = await readDeadCommand(deps.sql, id);
  if (dead === null) return null;
  if (dead.command === null)
    throw new Refusal(
      "impossible",
      "The command could not be kept; send it again from the dead-letter queue.",
    );
  if (isBeyondQueue(dead))
    throw new Refusal(
      "impossible",
      `The queue of this command reaches keys that begin with ${JSON.stringify(dead.queuePrefix)}: a retry does not lift this limit.`,
    );
  const ofQueue = { ...deps, prefix: dead.queuePrefix };
  const now = await databaseClock(deps.sql);
  const received = commandWith(dead);
  const origin = { ...caller.origin, via: "queue" } as const;
  const as: Caller = { name: queueName, reach: caller.reach, origin };
  const { understood, refused } = understand({ ...ofQueue, refuseKey }, [received], now, as);
  for (const { refusal } of refused) throw new Refusal(refusal.kind, refusal.message, refusal.faults);
  const outcomes = await applyChunk(ofQueue, {
    commands: understood,
    dead: null,
    mayWait: () => false,
    as,
    after: async (tx, all) => {
      if ([...all.values()].every(({ became }) => became !== "refused")) await deleteDeadCommand(tx, id);
    },
  });
  const [[command, outcome] = []] = [...outcomes];
  if (command === undefined || outcome === undefined) throw new Error("A command has no result.");
  return { key: command.operation.key, became: changeOf(outcome) };
}

function changeOf(outcome: Outcome): DeadRetried["became"] {
  if (outcome.became === "applied") return outcome.change;
  if (outcome.became === "passed-over") return "passed-over";
  const { kind, message, faults } = outcome.refusal;
  throw new Refusal(kind, message, faults);
}
