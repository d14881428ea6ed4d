import { expect, test } from "vitest";
import { again, retryAt } from "../../lib/job/handler-results.ts";
import { outcomeOf } from "../../lib/target/handler/handler-outcomes.ts";
import { NotedEdits } from "../../lib/target/handler/handler-schedules.ts";
import { at, hour } from "../support/instants.ts";

const bounds = { maxChecks: 1, maxAheadMs: hour };
const outcome = (result: Parameters<typeof outcomeOf>[0]) =>
  outcomeOf(result, { checks: 0 }, bounds, async () => at(0));

test("a recheck may be as far ahead as its handler allows, and not a moment later", async () => {
  expect(await outcome(again(at(hour)))).toEqual({ kind: "again", at: at(hour) });
  expect(await outcome(again(at(hour + 1)))).toMatchObject({ kind: "failed", reason: "recheck-far" });
});

test("a handler may ask for a retry as far ahead as it allows, and not a moment later", async () => {
  expect(await outcome(retryAt(at(hour)))).toMatchObject({ kind: "failed", retryAt: at(hour) });
  expect(await outcome(retryAt(at(hour + 1)))).not.toHaveProperty("retryAt");
});

test("ctx.schedule takes a hundred edits of a job, and no more", () => {
  // Otherwise claims of their shards wait for one job's edits longer than a worker can afford.
  const noted = new NotedEdits(() => {});
  for (let n = 0; n < 100; n++) noted.schedule.cancel(`key-${n}`);
  expect(() => noted.schedule.cancel("one-more")).toThrow("at most 100 schedules");
});
