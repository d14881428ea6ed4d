import {
  type DeadCommandRead,
  type DeadSearch,
  deleteDeadCommand,
  listDeadCommands,
  readDeadCommand,
} from "../../ingest/dead-commands.ts";
import type { IngestDeps } from "../../ingest/ingest-deps.ts";
import { type DeadRetried, retryDead } from "../../ingest/retry-dead.ts";
import type { Caller } from "../../schedule/shape/caller.ts";

/** Operations on commands that came through the queue and were not applied. */
export interface CommandOperations {
  /** Newest first. */
  list(search: DeadSearch): Promise<{ items: DeadCommandRead[]; next?: string }>;
  read(id: string): Promise<DeadCommandRead | null>;
  /** Null where there is no such command. */
  retry(params: {
    id: string;
    caller: Caller;
    refuseKey: (key: string) => void;
  }): Promise<DeadRetried | null>;
  /** False where there is no such command. */
  remove(id: string): Promise<boolean>;
}

export function commandOperations(deps: Omit<IngestDeps, "prefix">): CommandOperations {
  const { sql } = deps;
  return {
    list: (search) => listDeadCommands(sql, search),
    read: (id) => readDeadCommand(sql, id),
    retry: (params) => retryDead(deps, params),
    // In a transaction, so that a request with an Idempotency-Key records its step with the write.
    remove: (id) => sql.begin((tx) => deleteDeadCommand(tx, id)),
  };
}
