import { type BulkDone, type BulkParams, changeMany } from "../../batch/bulk-change.ts";
import { type BulkPreview, previewMany } from "../../batch/bulk-preview.ts";
import type { Acceptance } from "../../command/acceptance.ts";
import type { EditDeps } from "../../edit/edit-transaction.ts";
import type { Log } from "../../log/log.ts";

/** Actions on all schedules that match a filter. */
export interface BulkOperations {
  change(params: BulkParams): Promise<BulkDone>;
  /** Changes nothing. */
  preview(params: BulkParams): Promise<BulkPreview>;
}

export function bulkOperations(deps: EditDeps & { log: Log }, accept: Acceptance): BulkOperations {
  return {
    change: async (params) => changeMany(deps, accept.bulk(params)),
    preview: async (params) => previewMany(deps, accept.bulk(params)),
  };
}
