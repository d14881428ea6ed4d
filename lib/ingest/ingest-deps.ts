import type { Acceptance } from "../command/acceptance.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import type { Log } from "../log/log.ts";
import type { Metrics } from "../log/metrics.ts";

export interface IngestDeps extends EditDeps {
  acceptance: Acceptance;
  log: Log;
  metrics?: Metrics | undefined;
  /** The prefix of the keys that the queue may touch; null for all keys. */
  prefix: string | null;
}
