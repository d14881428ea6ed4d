import { expect, test } from "vitest";
import { CarillonProblem } from "../../lib/client/request/problem.ts";
import { csvLine } from "../../lib/page/data/export/csv.ts";
import {
  type Exported,
  type ExportFormat,
  type ExportList,
  exportRows,
  fileName,
  fileOf,
  nothingYet,
  rowsMax,
} from "../../lib/page/data/export/export-rows.ts";

interface Row {
  key: string;
  tags: string[];
  late: number | null;
}

/** A list in pages, whose cursor is the number of rows before. */
function listOf(rows: number, pageLength: number): ExportList<Row> {
  return {
    name: "schedules",
    filter: { prefix: "crm:a/b", tag: undefined },
    columns: ["key", "late", "tags"],
    page: async (cursor) => {
      const from = Number(cursor ?? 0);
      const to = Math.min(rows, from + pageLength);
      const items = Array.from({ length: to - from }, (_, n) => ({
        key: `k${from + n}`,
        tags: ["a", "b"],
        late: from + n === 0 ? null : -1,
      }));
      return to < rows ? { items, cursor: String(to) } : { items };
    },
  };
}

const running = (format: ExportFormat, onProgress: (so: Exported) => void = () => undefined) => ({
  format,
  signal: new AbortController().signal,
  onProgress,
});

test("A text that a spreadsheet takes for a formula gets an apostrophe, and a number does not", () => {
  const values = ["=1+1", "+49", "-x", "@sum", "\tx", 'a "b", c', "plain", -5, true, null, { a: 1 }];
  expect(csvLine(values)).toBe(`'=1+1,'+49,'-x,'@sum,'\tx,"a ""b"", c",plain,-5,true,,"{""a"":1}"\r\n`);
});

test("The export reads every page, and its CSV has the chosen columns", async () => {
  const all = await exportRows(listOf(3, 2), nothingYet(), running("csv"));
  expect(all).toMatchObject({ rows: 3, end: "all" });
  expect(await fileOf(all, "csv").text()).toBe(
    'key,late,tags\r\nk0,,"[""a"",""b""]"\r\nk1,-1,"[""a"",""b""]"\r\nk2,-1,"[""a"",""b""]"\r\n',
  );
});

test("An export that was stopped is a whole JSON document, and goes on from its place", async () => {
  const list = listOf(5, 2);
  const stop = new AbortController();
  let so = nothingYet();
  const stopped: ExportList<Row> = {
    ...list,
    page: async (cursor, signal) => {
      signal.throwIfAborted();
      return list.page(cursor, signal);
    },
  };
  const reading = exportRows(stopped, so, {
    format: "json",
    signal: stop.signal,
    onProgress: (read) => {
      so = read;
      if (read.rows === 4) stop.abort();
    },
  });
  await expect(reading).rejects.toThrow();
  const keysIn = async (part: Exported) =>
    (JSON.parse(await fileOf(part, "json").text()) as Row[]).map(({ key }) => key);
  expect(await keysIn(so)).toEqual(["k0", "k1", "k2", "k3"]);
  const all = await exportRows(list, so, running("json"));
  expect(await keysIn(all)).toEqual(["k0", "k1", "k2", "k3", "k4"]);
});

test("An export of no rows is an empty JSON list, and a CSV of its head", async () => {
  expect(
    JSON.parse(await fileOf(await exportRows(listOf(0, 2), nothingYet(), running("json")), "json").text()),
  ).toEqual([]);
  const csv = await exportRows(listOf(0, 2), nothingYet(), running("csv"));
  expect(await fileOf(csv, "csv").text()).toBe("key,late,tags\r\n");
});

test("An export ends at its limit, and says that there is more", async () => {
  const all = await exportRows(listOf(rowsMax + 10, rowsMax / 2 + 1), nothingYet(), running("json"));
  expect(all).toMatchObject({ rows: rowsMax, end: "limit" });
});

test("A request that the API refuses ends the export at once", async () => {
  const refused = new CarillonProblem({ type: "about:blank", title: "No", status: 403, detail: "No." });
  const list = { ...listOf(1, 1), page: () => Promise.reject(refused) };
  await expect(exportRows(list, nothingYet(), running("csv"))).rejects.toBe(refused);
});

test("The name of the file has the filter and the instant, and marks a part", () => {
  const at = new Date("2026-11-30T09:00:00.000Z");
  expect(fileName(listOf(1, 1), { format: "csv", at, end: "all" })).toBe(
    "carillon-schedules-prefix-crm_a_b-2026-11-30T09-00-00Z.csv",
  );
  expect(fileName(listOf(1, 1), { format: "json", at, end: null })).toMatch(/Z-part\.json$/);
});
