import { afterEach, describe, expect, test } from "vitest";
import { briefLog, jsonLog } from "../../lib/log/log.ts";

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
