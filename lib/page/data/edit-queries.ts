import { queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";
import type { Preview } from "../../client/time.ts";
import { isObject, type JsonObject, valueAt } from "./document/json-text.ts";

/** How many coming runs an editor shows. */
export const runsShown = 20;

export interface PreviewedDraft {
  /** The document as it is typed: the server says what is wrong with it. */
  body: JsonObject;
  key: string | undefined;
  from: string | undefined;
}

/** When a document would run if it were saved now; its faults are in the error. */
export const draftPreviewQuery = (carillon: Carillon, { body, key, from }: PreviewedDraft) => {
  const sent = { ...withoutEmptyTarget(body), ...(key === undefined ? {} : { key }), from, n: runsShown };
  return queryOptions({
    queryKey: ["draft", sent],
    queryFn: async ({ signal }) => {
      const path = ["v1", "preview"];
      const request = { method: "POST", path, body: sent, changes: false, options: { signal } } as const;
      return (await carillon.request<Preview>(request)).body;
    },
    enabled: hasWhen(body),
    placeholderData: (before) => before,
  });
};

/** The coming runs of the stored version. Another version has runs of its own. */
export const storedRunsQuery = (
  carillon: Carillon,
  { key, version, from }: { key: string; version: number | undefined; from: string | undefined },
) =>
  queryOptions({
    queryKey: ["schedule", key, "next", "editor", version, from],
    queryFn: ({ signal }) => carillon.schedules.next(key, { n: runsShown, from }, { signal }),
    placeholderData: (before) => before,
  });

/**
 * The faults of a target that is missing or not typed yet, which the preview leaves out so that times are
 * seen before. `null` is refused as a missing target is when saving.
 */
export const targetCheckQuery = (carillon: Carillon, { body, key }: Omit<PreviewedDraft, "from">) => {
  const sent = { ...body, target: body["target"] ?? null, ...(key === undefined ? {} : { key }), n: 1 };
  return queryOptions({
    queryKey: ["draft target", sent],
    queryFn: async ({ signal }) => {
      const path = ["v1", "preview"];
      const request = { method: "POST", path, body: sent, changes: false, options: { signal } } as const;
      return (await carillon.request<Preview>(request)).body;
    },
    enabled: hasWhen(body) && withoutEmptyTarget(body)["target"] === undefined,
  });
};

const hasWhen = ({ when }: JsonObject) => when !== undefined && when !== "" && when !== null;

/** A preview needs no target, so one that is not typed yet is no fault. */
function withoutEmptyTarget(body: JsonObject): JsonObject {
  const isEmpty =
    ["queue", "handler", "lambda"].some((kind) => valueAt(body, ["target", kind]) === "") ||
    (isObject(valueAt(body, ["target", "webhook"])) &&
      valueAt(body, ["target", "webhook", "url"]) === undefined);
  if (!isEmpty) return body;
  const { target: _, ...rest } = body;
  return rest;
}
