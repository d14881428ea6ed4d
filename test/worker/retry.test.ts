import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { durationMs } from "../../lib/cadence/duration.ts";
import { retryShape } from "../../lib/schedule/shape/retry-shape.ts";
import { failed, thrown } from "../../lib/target/delivery.ts";
import { backoffMs, settlement } from "../../lib/worker/retry.ts";
import { at } from "../support/instants.ts";

const waits = (given: object, failures: number[], random = () => 1) =>
  failures.map((count) => backoffMs(retryShape.parse(given), count, random) / 1_000);

describe("the wait after failures", () => {
  test.each([
    ["fixed", { backoff: "fixed", base: "7s" }, [7, 7, 7, 7]],
    ["linear", { backoff: "linear", base: "7s" }, [7, 14, 21, 28]],
    ["exponential", { base: "7s" }, [7, 14, 28, 56]],
    ["bounded", { base: "7s", max: "20s" }, [7, 14, 20, 20]],
    ["linear and bounded", { backoff: "linear", base: "7s", max: "15s" }, [7, 14, 15, 15]],
    ["as listed", { delays: ["1s", "1m", "2s", "1h"] }, [1, 60, 2, 3_600]],
  ])("the wait after failures is %s", (_, given, seconds) => {
    expect(waits(given, [1, 2, 3, 4])).toEqual(seconds);
  });

  test("the wait with full jitter is any time up to the full wait", () => {
    expect(waits({ base: "8s" }, [1, 2], () => 0)).toEqual([0, 0]);
    expect(waits({ base: "8s" }, [1, 2], () => 0.25)).toEqual([2, 4]);
    expect(waits({ backoff: "fixed", base: "8s", jitter: "full" }, [1, 2], () => 0.25)).toEqual([2, 2]);
    expect(waits({ base: "8s", jitter: "none" }, [1, 2], () => 0.25)).toEqual([8, 16]);
    expect(waits({ delays: ["8s", "4s"] }, [1, 2], () => 0.25)).toEqual([8, 4]);
  });

  test("the wait never exceeds the maximum, with any policy", () => {
    fc.assert(
      fc.property(
        fc.record({
          backoff: fc.constantFrom("fixed", "linear", "exponential"),
          base: fc.integer({ min: 1, max: 86_400 }).map((seconds) => `${seconds}s`),
          max: fc.constant("2d"),
        }),
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (given, failures, luck) => {
          const wait = backoffMs(retryShape.parse(given), failures, () => luck);
          expect(wait).toBeGreaterThanOrEqual(0);
          expect(wait).toBeLessThanOrEqual(durationMs("2d") ?? 0);
        },
      ),
    );
  });
});

describe("the settlement of a failed job", () => {
  const job = { attempt: 0, forgiven: 0, retry: retryShape.parse({ attempts: 3, jitter: "none" }) };
  const error = "Error: no";

  test("a failed job is retried until its attempts are used up", () => {
    const outcome = (attempt: number) => settlement({ ...job, attempt }, thrown(new Error("no")), () => 1);
    expect(outcome(0)).toMatchObject({ kind: "retry", afterMs: 10_000, error, errorClass: "Error" });
    expect(outcome(1)).toMatchObject({ kind: "retry", afterMs: 20_000 });
    expect(outcome(2)).toMatchObject({ kind: "dead", reason: "attempts", error });
  });

  test("after a manual retry attempts and waits count from the beginning", () => {
    const outcome = (attempt: number) => settlement({ ...job, attempt, forgiven: 3 }, failed("no"), () => 1);
    expect(outcome(3)).toMatchObject({ kind: "retry", afterMs: 10_000 });
    expect(outcome(5)).toMatchObject({ kind: "dead" });
  });

  test("a failed job is retried at the instant that the target names, but not beyond its attempts", () => {
    const later = { ...failed("busy"), retryAt: at(5_000) };
    expect(settlement(job, later, () => 1)).toMatchObject({ kind: "retry", at: at(5_000) });
    expect(settlement({ ...job, attempt: 2 }, later, () => 1)).toMatchObject({
      kind: "dead",
      reason: "attempts",
    });
  });

  test("a failed job is dead if a retry cannot help, with the reason and the hold that the target names", () => {
    expect(settlement(job, failed("no", true), () => 1)).toMatchObject({ kind: "dead", reason: "gave-up" });
    const gone = { ...failed("410", true), reason: "gave-up", hold: "Gone." } as const;
    expect(settlement(job, gone, () => 1)).toMatchObject({ kind: "dead", hold: "Gone." });
  });
});
