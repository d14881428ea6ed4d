import type { Acceptance } from "../command/acceptance.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import type { Log } from "../log/log.ts";
import type { Metrics } from "../log/metrics.ts";

export interface IngestDeps extends EditDeps {
  acceptance: Acceptance;
  log: Log;
  metrics?: Metrics | undefined;
  /** The queue reaches keys that begin with this; null where it reaches all. */
  prefix: string | null;
}
