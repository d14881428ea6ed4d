import {
  type DeadCommandRead,
  deleteDeadCommand,
  listDeadCommands,
  readDeadCommand,
} from "../../ingest/dead-commands.ts";
import type { IngestDeps } from "../../ingest/ingest-deps.ts";
import { type DeadRetried, retryDead } from "../../ingest/retry-dead.ts";
import type { Caller } from "../../schedule/shape/caller.ts";

/** What the API does with commands that came through the queue and were not applied. */
export interface CommandOperations {
  /** Newest first; `before` is the id at which the page before ended. */
  list(params: {
    prefix?: string | undefined;
    limit: number;
    before?: string | undefined;
  }): Promise<{ items: DeadCommandRead[]; next?: string }>;
  read(id: string): Promise<DeadCommandRead | null>;
  /** Null where there is none. */
  retry(params: {
    id: string;
    caller: Caller;
    refuseKey: (key: string) => void;
  }): Promise<DeadRetried | null>;
  /** False where there is none. */
  remove(id: string): Promise<boolean>;
}

export function commandOperations(deps: Omit<IngestDeps, "prefix">): CommandOperations {
  const { sql } = deps;
  return {
    list: (params) => listDeadCommands(sql, params),
    read: (id) => readDeadCommand(sql, id),
    retry: (params) => retryDead({ ...deps, prefix: null }, params),
    // A transaction, as every write of a request that may come again.
    remove: (id) => sql.begin((tx) => deleteDeadCommand(tx, id)),
  };
}
