import { afterEach, describe, expect, test } from "vitest";
import { briefLog, type HandlerLog, jsonLog, textLog } from "../../lib/log/log.ts";

const variable = "_X_AMZN_TRACE_ID";
const before = process.env[variable];

afterEach(() => {
  if (before === undefined) delete process.env[variable];
  else process.env[variable] = before;
});

/** A line written while Lambda has this trace header. */
function lineWith(header: string | undefined): unknown {
  if (header === undefined) delete process.env[variable];
  else process.env[variable] = header;
  const lines: string[] = [];
  jsonLog((line) => lines.push(line)).info("tick.done", { jobs: 1 });
  return JSON.parse(lines[0] ?? "");
}

describe("a line of the log", () => {
  const root = "1-5759e988-bd862e3fe1be46a994272793";

  test("a line of the log has the trace if X-Ray records this invocation", () => {
    const header = `Root=${root};Parent=53995c3f42cd8ad8;Sampled=1;Lineage=1:a87bd80c:0`;
    expect(lineWith(header)).toEqual({ level: "info", event: "tick.done", trace: root, jobs: 1 });
  });

  test.each([undefined, "", `Root=${root};Parent=53995c3f42cd8ad8;Sampled=0`, "Sampled=1"])(
    "a line of the log has no trace with the header %s",
    (header) => expect(lineWith(header)).toEqual({ level: "info", event: "tick.done", jobs: 1 }),
  );
});

test("a line of text has no line breaks, control characters or direction marks of a field or of an event", () => {
  const lines: string[] = [];
  const odd = "a\r\n\u001b[2J\u009b31m\u202eb\u2028c";
  const logs = [
    textLog(
      "worker",
      () => new Date(0),
      (line) => lines.push(line),
    ),
    briefLog(
      "api",
      () => new Date(0),
      (line) => lines.push(line),
    ),
  ];
  for (const log of logs) log.error(`said ${odd}`, { name: odd, list: { odd } as never });
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    expect(line).not.toMatch(/[\p{Cc}\p{Zl}\u202e]/u);
    expect(line).toContain("said a\\u000d\\u000a\\u001b[2J\\u009b31m\\u202eb\\u2028c");
  }
});

describe("a brief log", () => {
  test("a brief log has the errors of Carillon and all that handlers log, without the jobs that have lines of their own", () => {
    const lines: string[] = [];
    const at = new Date("2026-11-28T09:05:07Z");
    const log = briefLog(
      "api",
      () => at,
      (line) => lines.push(line),
    );
    log.info("api.request", { method: "GET" });
    log.warn("lifecycle.left", { error: "no bus" });
    log.error("job.dead", { job: "j", attempt: 1, error: "no" });
    log.error("api.failed", { method: "GET", path: "/v1/jobs", error: "no database" });
    log.info("order sent", { order: 7 });
    const time = at.toTimeString().slice(0, 8);
    expect(lines).toEqual([
      `${time}  api        GET /v1/jobs failed: no database`,
      `${time}  log        order sent (order=7)`,
    ]);
  });
});

describe("values that handlers log", () => {
  /** The line of each log for a field whose type the log does not promise, as from JavaScript. */
  function linesOf(value: unknown): { text: string; json: string } {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const logs: HandlerLog[] = [textLog("worker", () => new Date(0), write), jsonLog(write, () => undefined)];
    for (const log of logs) Reflect.apply(log.info, log, ["x", { o: value }]);
    return { text: lines[0]?.split(" x ")[1] ?? "", json: lines[1] ?? "" };
  }

  test.each([
    [{ a: 1, b: [1, { c: 2 }] }, '(o={"a":1,"b":[1,{"c":2}]})'],
    [new Map([["k", new Set([1])]]), '(o={"k":[1]})'],
    [new Date(0), "(o=1970-01-01T00:00:00.000Z)"],
    [new Error("no"), "(o=Error: no)"],
    [{ big: 7n, gone: undefined, not: Number.NaN }, '(o={"big":"7","not":"NaN"})'],
    ["as it is", "(o=as it is)"],
  ])("the text log writes %o as %s", (value, text) => {
    expect(linesOf(value).text).toBe(text);
  });

  test("a circle is named in both logs, and fails neither", () => {
    const circle: { own?: unknown } = {};
    circle.own = [circle];
    expect(linesOf(circle).text).toBe('(o={"own":["[circular]"]})');
    expect(JSON.parse(linesOf(circle).json)).toMatchObject({ event: "x", o: { own: ["[circular]"] } });
  });

  test("a member that throws is said to be unreadable", () => {
    const throws = {
      get own() {
        throw new Error("no");
      },
    };
    expect(linesOf(throws).text).toBe("(o=a value that cannot be read)");
    expect(JSON.parse(linesOf(throws).json)).toMatchObject({ o: "a value that cannot be read" });
  });

  test("a long object is cut in the text log", () => {
    expect(linesOf({ long: "a".repeat(5_000) }).text).toMatch(/^\(o=\{"long":"a+…\)$/);
    expect(linesOf({ long: "a".repeat(5_000) }).text.length).toBeLessThan(520);
  });
});
