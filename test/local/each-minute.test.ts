import { describe, expect, test } from "vitest";
import { silentLog } from "../../lib/log/log.ts";
import { eachMinute, type ScheduledEvent } from "../../lib/tools/local/lambda/each-minute.ts";
import { localFunction } from "../../lib/tools/local/lambda/local-function.ts";
import { manualClock } from "../support/manual-clock.ts";

const log = silentLog;

function setup(handle: (event: ScheduledEvent) => Promise<void>) {
  const clock = manualClock("2026-11-21T08:00:30.250Z");
  const assemble = () => ({ handler: handle, close: async () => {} });
  const spec = { name: "tick", assemble, env: {}, timeoutMs: 55_000, concurrency: 2 };
  return { clock, tick: localFunction(spec, { clock, log }) };
}

describe("a rule that fires each minute", () => {
  test("the minute rule fires at once and then at each full minute, with EventBridge's event", async () => {
    const times: string[] = [];
    const { clock, tick } = setup(async (event) => {
      times.push(event.time);
      expect(event).toMatchObject({ "detail-type": "Scheduled Event", source: "aws.events", detail: {} });
    });
    const rule = eachMinute(tick, { clock, log });
    await clock.advance(150_000);
    await rule.stop();
    expect(times).toEqual([
      "2026-11-21T08:00:30Z",
      "2026-11-21T08:01:00Z",
      "2026-11-21T08:02:00Z",
      "2026-11-21T08:03:00Z",
    ]);
  });

  test("the minute rule fires again after a tick that failed", async () => {
    let ticks = 0;
    const { clock, tick } = setup(async () => {
      ticks++;
      throw new Error("no database");
    });
    const rule = eachMinute(tick, { clock, log });
    await clock.advance(30_000);
    await rule.stop();
    expect(ticks).toBe(2);
  });

  test("the minute rule fires while an earlier tick hangs, which is given up after its timeout", async () => {
    let ticks = 0;
    const { clock, tick } = setup(() => {
      ticks++;
      return new Promise(() => {});
    });
    const rule = eachMinute(tick, { clock, log });
    await clock.advance(29_750);
    expect(ticks).toBe(2);
    await clock.advance(60_000);
    await rule.stop();
    expect(ticks).toBe(3);
  });

  test("the minute rule does not fire after it is stopped", async () => {
    let ticks = 0;
    const { clock, tick } = setup(async () => {
      ticks++;
    });
    const rule = eachMinute(tick, { clock, log });
    await rule.stop();
    await clock.advance(300_000);
    expect(ticks).toBe(1);
  });
});
