import { describe, expect, test } from "vitest";
import { durationMs } from "../../lib/cadence/duration.ts";

describe("a duration", () => {
  test.each([
    ["30s", 30_000],
    ["1h30m", 5_400_000],
    ["250ms", 250],
    ["2d", 172_800_000],
    ["1w2d3h4m5s6ms", 604_800_000 + 172_800_000 + 10_800_000 + 240_000 + 5_000 + 6],
    ["0s", 0],
    ["90m", 5_400_000],
    ["PT1H30M", 5_400_000],
    ["P1D", 86_400_000],
    ["P2W", 1_209_600_000],
    ["P1W2DT3H4M5.006S", 604_800_000 + 172_800_000 + 10_800_000 + 240_000 + 5_006],
    ["PT0.5S", 500],
    ["PT0S", 0],
  ])("the duration %s is %i ms", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  test.each([
    "",
    "5",
    "s",
    "5 m",
    " 5m",
    "5m ",
    "5m\n",
    "-5m",
    "+5m",
    "1.5h",
    "30m1h",
    "5m5m",
    "5M",
    "5y",
    "1e3s",
    "５m",
    "999999999w",
    "P",
    "PT",
    "P1",
    "P1DT",
    "P1M",
    "P1Y",
    "P1H",
    "PT1D",
    "PT1M1H",
    "PT1H1H",
    "P1DT1HT1M",
    "PT1.5H",
    "PT.5S",
    "PT1.0001S",
    "p1d",
    "P 1D",
    "P-1D",
    "-P1D",
    "P99999999999999999999W",
  ])("%j is not a duration", (text) => {
    expect(durationMs(text)).toBeNull();
  });
});
