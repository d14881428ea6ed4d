import * as z from "zod";
import { type BulkDone, type BulkParams, changedMost } from "../../batch/bulk-change.ts";
import type { BulkPreview } from "../../batch/bulk-preview.ts";
import { below } from "../../command/command-shape.ts";
import { readSchedulePatch } from "../../command/schedule-input.ts";
import { isSearchPlace, type ScheduleFilter } from "../../history/search-schedules.ts";
import { bulkDocs } from "../document/bulk-docs.ts";
import type { Operations } from "../operations/operations.ts";
import type { Answer } from "../request/answer.ts";
import { deleteManyShape, patchManyShape, pauseManyShape, resumeManyShape } from "../request/bulk-shape.ts";
import { type Counted, dryRunCost } from "../request/cost.ts";
import { problemDocument } from "../request/problem.ts";
import { pageQuery } from "../request/query.ts";
import { narrowedOrRefused, refuseForeignKey } from "../request/reach.ts";
import { type Call, type Route, readShape, workRoute } from "../request/route.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";
import { ownerFor, resumedOwnerFor } from "./hold-owner.ts";

const goOnQuery = z.strictObject({ cursor: pageQuery.cursor });

type BulkCall = Call<never, z.output<typeof goOnQuery>>;

/** Actions on all schedules that match a filter. */
export function bulkRoutes(operations: Operations): Route[] {
  const post = { method: "POST", scope: "write", query: goOnQuery, kind: "bulk", cost } as const;
  const answer = (asked: BulkAsked) => changed(operations, asked);
  return [
    workRoute({
      ...post,
      path: "/v1/schedules:pause",
      doc: bulkDocs.pause,
      read: (call) => {
        const asked = readShape(pauseManyShape, call.body(), "body");
        const { until, owner: named } = asked;
        const owner = ownerFor(call.token, named);
        return bulkOf(call, asked, { verb: "pause", until: until ?? undefined, owner });
      },
      answer,
    }),
    workRoute({
      ...post,
      path: "/v1/schedules:resume",
      doc: bulkDocs.resume,
      read: (call) => {
        const asked = readShape(resumeManyShape, call.body(), "body");
        return bulkOf(call, asked, { verb: "resume", owner: resumedOwnerFor(call.token, asked.owner) });
      },
      answer,
    }),
    workRoute({
      ...post,
      path: "/v1/schedules:delete",
      doc: bulkDocs.delete,
      read: (call) => bulkOf(call, readShape(deleteManyShape, call.body(), "body"), { verb: "delete" }),
      answer,
    }),
    workRoute({
      ...post,
      path: "/v1/schedules:patch",
      doc: bulkDocs.patch,
      read: (call) => {
        const body = call.body();
        const asked = readShape(patchManyShape, body, "body");
        return bulkOf(call, asked, { verb: "patch", patch: readPatch(body) });
      },
      answer,
    }),
  ];
}

const cost: Counted<BulkAsked> = {
  per: "each schedule that matches",
  most: changedMost,
  or: `${dryRunCost} with \`dryRun\``,
  isReserve: true,
  of: ({ dryRun, params }) => (dryRun ? dryRunCost : (params.filter.keys?.length ?? changedMost)),
};

/** The patch as it was sent. The shape has checked it, but would turn its texts into values. */
function readPatch(body: unknown): object {
  const sent = typeof body === "object" && body !== null && "patch" in body ? body.patch : null;
  const patch = below("patch", () => readSchedulePatch(sent, ""));
  return typeof patch === "object" && patch !== null ? patch : {};
}

interface Asked {
  filter: ScheduleFilter;
  keys?: readonly string[] | undefined;
  reason?: string | null | undefined;
  dryRun: boolean;
}

/** A bulk action as its request asks for it. */
interface BulkAsked {
  params: BulkParams;
  dryRun: boolean;
  /** The filter and the change, to which cursors belong. */
  mark: object;
}

function bulkOf(
  { query, token, caller }: BulkCall,
  { filter: selected, keys, reason, dryRun }: Asked,
  change: BulkParams["change"],
): BulkAsked {
  for (const key of keys ?? []) refuseForeignKey(token, key);
  const filter = { ...selected, keys, prefix: narrowedOrRefused(token, selected.prefix) };
  const mark = { ...filter, ...change };
  const after = readSearchCursor(query.cursor, "schedule-bulk", mark, (place) =>
    isSearchPlace(filter, place),
  );
  return { params: { filter, change, reason: reason ?? undefined, after, caller }, dryRun, mark };
}

async function changed(operations: Operations, { params, dryRun, mark }: BulkAsked): Promise<Answer> {
  if (dryRun) return { status: 200, body: previewView(await operations.bulk.preview(params)) };
  const { next, failures, ...counts } = await operations.bulk.change(params);
  return {
    status: 200,
    body: { ...counts, failures: failures.map(failureView), ...goOn(mark, next) },
    units: counts.done + counts.unchanged + counts.failed,
  };
}

const previewView = (preview: BulkPreview) => ({ dryRun: true, ...preview });

function failureView({ key, kind, message }: BulkDone["failures"][number]) {
  const problem = kind === "busy" ? "unavailable" : kind === "failed" ? "internal" : kind;
  return { key, status: problemDocument(problem, { detail: message }).status, detail: message };
}

function goOn(mark: object, next: string | undefined) {
  return next === undefined ? {} : { cursor: writeSearchCursor("schedule-bulk", mark, next) };
}
