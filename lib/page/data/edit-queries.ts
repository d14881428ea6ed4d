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
  const sent = { ...withoutEmpty(body), ...(key === undefined ? {} : { key }), from, n: runsShown };
  return queryOptions({
    queryKey: ["draft", sent],
    queryFn: async ({ signal }) => {
      const path = ["v1", "preview"];
      const request = { method: "POST", path, body: sent, changes: false, options: { signal } } as const;
      return { preview: (await carillon.request<Preview>(request)).body, of: body };
    },
    enabled: !hasNoWhen(body),
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

/** Whether it is not said yet when it runs. */
export const hasNoWhen = ({ when }: JsonObject): boolean =>
  when === undefined || when === null || [when].flat().every((each) => each === "");

/**
 * Without an expression and a target that are not typed yet. The server would refuse them, and what is missing
 * is known without it; a preview needs no target.
 */
function withoutEmpty(body: JsonObject): JsonObject {
  const { when } = body;
  const typed = Array.isArray(when) ? { ...body, when: when.filter((each) => each !== "") } : body;
  const isEmpty =
    body["target"] === null ||
    ["queue", "handler", "lambda"].some((kind) => valueAt(body, ["target", kind]) === "") ||
    (isObject(valueAt(body, ["target", "webhook"])) &&
      valueAt(body, ["target", "webhook", "url"]) === undefined);
  if (!isEmpty) return typed;
  const { target: _, ...rest } = typed;
  return rest;
}
