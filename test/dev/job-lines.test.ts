import { describe, expect, test } from "vitest";
import { painter } from "../../lib/cli/output/style.ts";
import type { JobSummary } from "../../lib/client/main.ts";
import { jobLines } from "../../lib/tools/dev/jobs/job-lines.ts";

const at = new Date("2026-11-28T09:05:07.100Z");

function job(of: Partial<JobSummary>): JobSummary {
  return {
    ...{ id: "1-1-c0", kind: "cadence", key: "hello", scheduleId: "1", version: 1, group: null },
    ...{ occurrence: at.toISOString(), dueAt: at.toISOString(), state: "succeeded", reason: null },
    ...{
      attempt: 1,
      checks: 0,
      cancelling: false,
      waitsFor: null,
      readyAt: null,
      startedAt: at.toISOString(),
    },
    ...{ finishedAt: at.toISOString(), latenessMs: 3, durationMs: 12, error: null, errorGroup: null },
    recheckOf: null,
    ...of,
  };
}

const linesOf = (colours = false) =>
  jobLines({ paint: painter(colours), now: () => at, targetOf: async () => "queue reports" });
const time = at.toTimeString().slice(0, 8);

describe("the lines of carillon dev for jobs", () => {
  test("a job that was skipped has its reason in words", async () => {
    const skipped = job({
      state: "skipped",
      reason: "overlap",
      attempt: 0,
      startedAt: null,
      durationMs: null,
    });
    expect(await linesOf()([skipped], false)).toEqual([
      `${time}  skipped    hello         queue reports        -    overlap: an earlier run was not over yet`,
    ]);
  });

  test("a line escapes what controls a terminal, and cuts a long error", async () => {
    const dead = job({ state: "dead", reason: "attempts", error: `a\nb\u001b[2J${"x".repeat(1_000)}` });
    const [line = ""] = await linesOf()([dead], false);
    expect(line).not.toMatch(/[\p{Cc}]/u);
    expect(line).toContain("try 1  a b");
    expect(line.length).toBeLessThan(400);
  });

  test("a flood is twenty lines with the failures first, and the number of the others", async () => {
    const flood = Array.from({ length: 832 }, (_, n) => job({ id: `1-${n}-c0`, key: `k${n}` }));
    const dead = job({ key: "broken", state: "dead", reason: "attempts", error: "no" });
    const lines = await linesOf()([...flood, dead], false);
    expect(lines).toHaveLength(21);
    expect(lines.filter((line) => line.includes("broken"))).toHaveLength(1);
    expect(lines.at(-1)).toBe("          … and 813 more in this second");
    expect((await linesOf()(flood, true)).at(-1)).toBe("          … and at least 812 more in this second");
  });

  test("colours are used only where they are wanted", async () => {
    expect((await linesOf(true)([job({})], false)).join()).toContain("\u001b[32msucceeded");
    expect((await linesOf()([job({})], false)).join()).not.toContain("\u001b");
  });
});
