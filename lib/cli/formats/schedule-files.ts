import { isJson, jsonFaults } from "../../schedule/shape/json.ts";
import { documentsIn, faultOfDocuments } from "./documents.ts";
import { type Found, isObject, type Reading } from "./found.ts";
import type { Source, SourceFile } from "./source-files.ts";

export function isScheduleFile(name: string): boolean {
  return /\.(ya?ml|json)$/i.test(name);
}

/**
 * Schedules in the fields of the API. A file holds one schedule, several documents, a list, or an
 * object from keys to schedules. A schedule that is alone in its file may omit its key, which is
 * then the file's path.
 */
export function readScheduleFiles({ files }: Pick<Source, "files">): Reading {
  return { found: files.flatMap(schedulesIn), notes: [] };
}

function schedulesIn(file: SourceFile): Found[] {
  try {
    const bodies = documentsIn(file)
      .filter((document) => document !== null && document !== undefined)
      .flatMap(bodiesIn);
    const [alone] = bodies;
    return bodies.map(({ key, body, place }) => {
      const isAlone = bodies.length === 1 && alone?.place === "" && !file.isStdin;
      return foundBody(place === "" ? file.name : `${file.name} ${place}`, body, {
        key,
        keyOfFile: isAlone ? keyOf(file.name) : null,
      });
    });
  } catch (error) {
    return [{ from: file.name, key: null, body: {}, differences: [], faults: [faultOfDocuments(error)] }];
  }
}

interface Body {
  key: string | null;
  body: unknown;
  /** Where the schedule is within its file; empty if it is alone there. */
  place: string;
}

function bodiesIn(document: unknown, index: number, all: readonly unknown[]): Body[] {
  const place = all.length === 1 ? "" : `document ${index + 1}`;
  if (Array.isArray(document))
    return document.map((body, at) => ({ key: null, body, place: `${place} [${at}]`.trim() }));
  // An object with `when` or `target` is a schedule, not an object from keys to schedules.
  if (!isObject(document) || "when" in document || "target" in document)
    return [{ key: null, body: document, place }];
  return Object.entries(document).map(([key, body]) => ({ key, body, place: `${place} ${key}`.trim() }));
}

function foundBody(
  from: string,
  body: unknown,
  { key, keyOfFile }: { key: string | null; keyOfFile: string | null },
): Found {
  const nothing = { from, key, body: {}, differences: [] };
  if (!isObject(body))
    return { ...nothing, faults: ["takes a schedule: an object with `when` and `target`"] };
  const { key: own, ...rest } = body;
  if (!isJson(rest))
    return {
      ...nothing,
      faults: jsonFaults(rest).map(({ path, message }) => `${path.join(".")} ${message}`),
    };
  if (own !== undefined && typeof own !== "string") return { ...nothing, faults: ["key takes a text"] };
  if (own !== undefined && key !== null && own !== key)
    return {
      ...nothing,
      faults: [`its own key ${JSON.stringify(own)} differs from its name ${JSON.stringify(key)} in the file`],
    };
  const named = own ?? key ?? keyOfFile;
  if (named === null) return { ...nothing, faults: ["key is required, because it is not alone in its file"] };
  return { from, key: named, body: isObject(rest) ? rest : {}, differences: [], faults: [] };
}

/** `orders/daily.yaml` becomes `orders:daily`, because keys take no `/`. */
function keyOf(name: string): string {
  return name.replace(/\.[^.]+$/, "").replaceAll("/", ":");
}
