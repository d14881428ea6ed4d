import { pause } from "../../../client/request/backoff.ts";
import type { Page } from "../../../client/request/pages.ts";
import { CarillonProblem, CarillonUnreachable } from "../../../client/request/problem.ts";
import { csvLine } from "./csv.ts";

/** A list that can be written into a file. */
export interface ExportList<Item extends object> {
  /** The noun, for the name of the file. */
  name: string;
  filter: object;
  /** The columns of the CSV file; the JSON file has every field. */
  columns: readonly (keyof Item & string)[];
  page(cursor: string | undefined, signal: AbortSignal): Promise<Page<Item>>;
}

export type ExportFormat = "csv" | "json";

/** The rows read so far. The texts of pages are blobs, which the browser may keep on disk. */
export interface Exported {
  parts: Blob[];
  rows: number;
  /** Where the next page begins. */
  cursor: string | undefined;
  end: "all" | "limit" | null;
}

export const nothingYet = (): Exported => ({ parts: [], rows: 0, cursor: undefined, end: null });

/** The most rows of one file. */
export const rowsMax = 100_000;

interface ExportOptions {
  format: ExportFormat;
  signal: AbortSignal;
  onProgress(so: Exported): void;
}

/** Goes on from what was read, page by page, to the end of the list or the limit. */
export async function exportRows<Item extends object>(
  list: ExportList<Item>,
  begun: Exported,
  { format, signal, onProgress }: ExportOptions,
): Promise<Exported> {
  let so = begun;
  while (so.end === null) {
    const page = await withRetries(() => list.page(so.cursor, signal), signal);
    const items = page.items.slice(0, rowsMax - so.rows);
    const rows = so.rows + items.length;
    const end = page.cursor === undefined ? "all" : rows >= rowsMax ? "limit" : null;
    const text =
      format === "json"
        ? jsonText(items, so.rows === 0)
        : csvText(items, list.columns, so.parts.length === 0);
    so = { parts: text === "" ? so.parts : [...so.parts, new Blob([text])], rows, cursor: page.cursor, end };
    onProgress(so);
  }
  return so;
}

function csvText<Item extends object>(
  items: readonly Item[],
  columns: readonly (keyof Item & string)[],
  isFirst: boolean,
): string {
  const lines = items.map((item) => csvLine(columns.map((column) => item[column])));
  return [...(isFirst ? [csvLine(columns)] : []), ...lines].join("");
}

function jsonText(items: readonly object[], isFirst: boolean): string {
  if (items.length === 0) return "";
  return `${isFirst ? "" : ",\n"}${items.map((item) => JSON.stringify(item)).join(",\n")}`;
}

/** The whole file. A list that was stopped is a valid file too. */
export function fileOf({ parts }: Exported, format: ExportFormat): Blob {
  return format === "json"
    ? new Blob(["[\n", ...parts, "\n]\n"], { type: "application/json" })
    : new Blob(parts, { type: "text/csv;charset=utf-8" });
}

const nameMax = 120;

/** Such as `carillon-schedules-prefix-crm-2026-11-30T09-00-00Z.csv`. */
export function fileName(
  { name, filter }: Pick<ExportList<object>, "name" | "filter">,
  { format, at, end }: { format: ExportFormat; at: Date; end: Exported["end"] },
): string {
  const fields = Object.entries(filter).flatMap(([field, value]) =>
    value === undefined ? [] : [field, String(value)],
  );
  const words = ["carillon", name, ...fields].map((word) => word.replaceAll(/[^\w.]+/g, "_"));
  const instant = at.toISOString().slice(0, 19).replaceAll(":", "-");
  return `${words.join("-").slice(0, nameMax)}-${instant}Z${end === "all" ? "" : "-part"}.${format}`;
}

const retriesMax = 5;
const firstWaitMs = 1_000;

/** The rate of a token may be used up on the way, and a function may be restarted. */
async function withRetries<Answer>(call: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  for (let retry = 0; ; retry++) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted || retry === retriesMax || !mayPass(error)) throw error;
      const asked = error instanceof CarillonProblem ? (error.retryAfterMs ?? 0) : 0;
      await pause(Math.max(asked, firstWaitMs * 2 ** retry), signal);
    }
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof CarillonUnreachable) return true;
  return error instanceof CarillonProblem && (error.status === 429 || error.status >= 500);
}
