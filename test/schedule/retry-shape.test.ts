import { describe, expect, test } from "vitest";
import { retryShape } from "../../lib/schedule/shape/retry-shape.ts";
import { shapeFaults } from "../../lib/schedule/shape/shape-faults.ts";

const faultsOf = (input: unknown) => {
  const read = retryShape.safeParse(input, { reportInput: true });
  return read.success ? [] : shapeFaults(read.error).map(({ path }) => path);
};

describe("a retry policy", () => {
  test.each([
    [{}, { attempts: 5, backoff: "exponential", base: "10s", max: "1h", jitter: "full" }],
    [
      { backoff: "fixed", base: "30s" },
      { attempts: 5, backoff: "fixed", base: "30s", max: "1h", jitter: "none" },
    ],
    [
      { backoff: "linear", attempts: 3 },
      { attempts: 3, backoff: "linear", base: "10s", max: "1h", jitter: "full" },
    ],
    [{ jitter: "none" }, { attempts: 5, backoff: "exponential", base: "10s", max: "1h", jitter: "none" }],
    [
      { delays: ["5s", "1m", "2h"] },
      { attempts: 4, backoff: "list", base: "10s", max: "30d", jitter: "none", delays: ["5s", "1m", "2h"] },
    ],
  ])("the retry policy %j is read with every default", (given, whole) => {
    expect(retryShape.parse(given)).toEqual(whole);
  });

  test.each([
    {},
    { backoff: "linear" },
    { backoff: "fixed", base: "2h", max: "3h" },
    { delays: ["1s"], jitter: "full" },
  ])("the retry policy %j keeps its meaning when it is read back", (given) => {
    const whole = retryShape.parse(given);
    expect(retryShape.parse(whole)).toEqual(whole);
  });

  test.each([
    [{ backoff: "list" }, ["delays"]],
    [{ backoff: "fixed", delays: ["1s"] }, ["backoff"]],
    [{ attempts: 5, delays: ["1s"] }, ["attempts"]],
    [{ base: "2h" }, ["max"]],
    [{ base: "2h", max: "1h" }, ["max"]],
    [{ delays: [] }, ["delays"]],
    [{ delays: ["8d"] }, ["delays[0]"]],
    [{ attempts: 0 }, ["attempts"]],
    [{ attempts: 101 }, ["attempts"]],
    [{ backoff: "quadratic" }, ["backoff"]],
    [{ tries: 3 }, ["tries"]],
  ])("the retry policy %j is refused with the path of its fault", (given, paths) => {
    expect(faultsOf(given)).toEqual(paths);
  });
});
