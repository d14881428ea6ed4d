import { afterEach, describe, expect, test } from "vitest";
import { jsonLog } from "../../lib/log/log.ts";

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
