import * as z from "zod";
import type { BulkDone, BulkParams } from "../../batch/bulk-change.ts";
import type { BulkPreview } from "../../batch/bulk-preview.ts";
import { below } from "../../command/command-shape.ts";
import { readSchedulePatch } from "../../command/schedule-input.ts";
import { isSearchPlace, type ScheduleFilter } from "../../history/search-schedules.ts";
import { bulkDocs } from "../document/bulk-docs.ts";
import type { Operations } from "../operations/operations.ts";
import type { Answer } from "../request/answer.ts";
import { deleteManyShape, patchManyShape, pauseManyShape, resumeManyShape } from "../request/bulk-shape.ts";
import { problemDocument } from "../request/problem.ts";
import { pageQuery } from "../request/query.ts";
import { narrowedOrRefused, refuseForeignKey } from "../request/reach.ts";
import { type Call, type Route, readShape, route } from "../request/route.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";
import { ownerFor, resumedOwnerFor } from "./hold-owner.ts";

const goOnQuery = z.strictObject({ cursor: pageQuery.cursor });

type BulkCall = Call<never, z.output<typeof goOnQuery>>;

/** Actions on all schedules that match a filter. */
export function bulkRoutes(operations: Operations): Route[] {
  const post = { method: "POST", scope: "write", query: goOnQuery } as const;
  return [
    route({
      ...post,
      path: "/v1/schedules:pause",
      doc: bulkDocs.pause,
      answer: async (call) => {
        const asked = readShape(pauseManyShape, call.body(), "body");
        const { until, owner: named } = asked;
        const owner = ownerFor(call.token, named);
        return changed(operations, call, asked, { verb: "pause", until: until ?? undefined, owner });
      },
    }),
    route({
      ...post,
      path: "/v1/schedules:resume",
      doc: bulkDocs.resume,
      answer: async (call) => {
        const asked = readShape(resumeManyShape, call.body(), "body");
        const owner = resumedOwnerFor(call.token, asked.owner);
        return changed(operations, call, asked, { verb: "resume", owner });
      },
    }),
    route({
      ...post,
      path: "/v1/schedules:delete",
      doc: bulkDocs.delete,
      answer: async (call) =>
        changed(operations, call, readShape(deleteManyShape, call.body(), "body"), { verb: "delete" }),
    }),
    route({
      ...post,
      path: "/v1/schedules:patch",
      doc: bulkDocs.patch,
      answer: async (call) => {
        const body = call.body();
        const asked = readShape(patchManyShape, body, "body");
        return changed(operations, call, asked, { verb: "patch", patch: readPatch(body) });
      },
    }),
  ];
}

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

async function changed(
  operations: Operations,
  { query, token, caller }: BulkCall,
  { filter: selected, keys, reason, dryRun }: Asked,
  change: BulkParams["change"],
): Promise<Answer> {
  for (const key of keys ?? []) refuseForeignKey(token, key);
  const filter = { ...selected, keys, prefix: narrowedOrRefused(token, selected.prefix) };
  const mark = { ...filter, ...change };
  const after = readSearchCursor(query.cursor, "schedule-bulk", mark, (place) =>
    isSearchPlace(filter, place),
  );
  const params = { filter, change, reason: reason ?? undefined, after, caller };
  if (dryRun) return { status: 200, body: previewView(await operations.bulk.preview(params)) };
  const { next, failures, ...counts } = await operations.bulk.change(params);
  return { status: 200, body: { ...counts, failures: failures.map(failureView), ...goOn(mark, next) } };
}

const previewView = (preview: BulkPreview) => ({ dryRun: true, ...preview });

function failureView({ key, kind, message }: BulkDone["failures"][number]) {
  const problem = kind === "busy" ? "unavailable" : kind === "failed" ? "internal" : kind;
  return { key, status: problemDocument(problem, { detail: message }).status, detail: message };
}

function goOn(mark: object, next: string | undefined) {
  return next === undefined ? {} : { cursor: writeSearchCursor("schedule-bulk", mark, next) };
}
