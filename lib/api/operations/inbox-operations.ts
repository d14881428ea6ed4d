import { applyInboxAtOnce, type InboxApplied, type InboxDeps } from "../../inbox/apply-inbox.ts";
import {
  deleteRefused,
  listRefused,
  type RefusedCommand,
  type RefusedPlace,
  type RefusedSearch,
  readOneRefused,
} from "../../inbox/refusals.ts";

/** Operations on commands that callers write in SQL. */
export interface InboxOperations {
  /** As many as one request can. */
  apply(): Promise<InboxApplied>;
  /** Newest first; a page may be short of its limit and still have a `next`. */
  listRefused(search: RefusedSearch): Promise<{ items: RefusedCommand[]; next?: RefusedPlace }>;
  readRefused(id: string): Promise<RefusedCommand | null>;
  /** False where there is no such command. */
  removeRefused(id: string): Promise<boolean>;
}

export function inboxOperations(deps: InboxDeps): InboxOperations {
  const { sql } = deps;
  return {
    apply: () => applyInboxAtOnce(deps),
    listRefused: (search) => listRefused(sql, search),
    readRefused: (id) => readOneRefused(sql, id),
    // In a transaction, so that a request with an Idempotency-Key records its step with the write.
    removeRefused: (id) => sql.begin((tx) => deleteRefused(tx, id)),
  };
}
