import { describe, expect, test } from "vitest";
import type { Outage, Problems, Stats } from "../../../lib/client/stats.ts";
import {
  isAfterOutage,
  isLateNow,
  latenessWords,
  punctualText,
} from "../../../lib/page/data/text/lateness-text.ts";

/** Counts of five full minutes and the half of the running one. */
function statsOf(jobs: number, p99Ms: number | null): Stats {
  const lateness = { jobs, p50Ms: 0, p95Ms: 0, p99Ms, maxMs: p99Ms };
  return {
    asOf: "2026-03-02T10:05:30.000Z",
    lastMinutes: { from: "2026-03-02T10:00:00.000Z", lateness },
  } as unknown as Stats;
}

describe("the words of lateness", () => {
  test.each([
    { jobs: 5_000, ms: 336_000, words: "99 of 100 runs started within this, last 5 minutes" },
    { jobs: 12, ms: 1_500, words: "the longest delay of a run, last 5 minutes" },
    { jobs: 0, ms: null, words: "lateness: no run has started in the last 5 minutes" },
  ])(
    "The figure of the lateness of $jobs runs says which runs it is of, and of which time",
    ({ jobs, ms, words }) => {
      expect(latenessWords(statsOf(jobs, ms))).toBe(words);
    },
  );

  test.each([
    {
      jobs: 5_000,
      ms: 369_000,
      text: "In the last 5 minutes 99 of 100 runs started within 6 min 9 s of their time; none is late now.",
    },
    {
      jobs: 12,
      ms: 1_500,
      text: "In the last 5 minutes the most delayed run started 1.5 s late; none is late now.",
    },
    { jobs: 5_000, ms: 300, text: "In the last 5 minutes 99 of 100 runs started within 0.3 s." },
    { jobs: 12, ms: 0, text: "In the last 5 minutes all 12 runs started within 0.1 s." },
    { jobs: 1, ms: 0, text: "In the last 5 minutes the only run started within 0.1 s." },
    { jobs: 0, ms: null, text: "No run has started in the last 5 minutes." },
  ])("The verdict on $jobs runs that began up to $ms ms late cannot be read as if most were late", (each) => {
    expect(punctualText(statsOf(each.jobs, each.ms), [], false)).toBe(each.text);
  });

  const outage = (to: string | null): Outage => ({
    ...{
      id: "1",
      what: "tick",
      from: "2026-03-02T09:50:00.000Z",
      to,
      notedAt: to ?? "2026-03-02T10:00:00.000Z",
    },
    see: { path: "/v1/jobs", query: {} },
    command: "carillon jobs",
  });

  test.each([5_000, 12])("The verdict on %i runs does not say that none is late while one is", (jobs) => {
    expect(punctualText(statsOf(jobs, 336_000), [], true)).not.toContain("none is late now");
  });

  test.each([
    ["jobs wait for their turn at a target", [{ kind: "target-full" }], 0, true],
    ["the workers are behind", [{ kind: "late-jobs" }], 0, true],
    ["a job has waited for less than a minute, which is no problem yet", [], 42_000, true],
    ["jobs are dead", [{ kind: "dead-jobs" }], 800, false],
  ])("If %s, a job is late now: %o, %i ms", (_name, problems, waited, isLate) => {
    const oldestDue = { readyAt: "2026-03-02T10:05:00.000Z", lateMs: waited };
    const found = { problems } as unknown as Problems;
    expect(isLateNow(found, { ...statsOf(12, 0), oldestDue })).toBe(isLate);
  });

  test("Runs that an outage made late are said to come after one that is over", () => {
    const ended = [outage("2026-03-02T10:01:00.000Z")];
    expect(punctualText(statsOf(5_000, 336_000), ended, false)).toBe(
      "In the last 5 minutes 99 of 100 runs started within 5 min 36 s of their time, after an outage that is over; none is late now.",
    );
    expect(isAfterOutage(statsOf(5_000, 336_000), ended)).toBe(true);
  });

  test.each([
    { name: "that lasts", of: outage(null), ms: 336_000 },
    { name: "that ended before the late runs were due", of: outage("2026-03-02T09:54:00.000Z"), ms: 336_000 },
    { name: "after which all runs started in time", of: outage("2026-03-02T10:01:00.000Z"), ms: 300 },
  ])("An outage $name does not explain late runs", ({ of, ms }) => {
    expect(isAfterOutage(statsOf(5_000, ms), [of])).toBe(false);
  });
});
