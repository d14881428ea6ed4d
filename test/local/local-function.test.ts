import { describe, expect, test } from "vitest";
import type { Invocation } from "../../lib/config/function.ts";
import { silentLog } from "../../lib/log/log.ts";
import { localFunction, TimedOut } from "../../lib/tools/local/lambda/local-function.ts";
import { manualClock } from "../support/manual-clock.ts";

type Handle = (event: string, invocation: Invocation) => Promise<string>;

function setup(handle: Handle, concurrency = 1) {
  const clock = manualClock("2026-11-21T08:00:00Z");
  const counts = { assembled: 0, closed: 0 };
  const assemble = () => {
    counts.assembled++;
    const close = async () => {
      counts.closed++;
    };
    return { handler: handle, close };
  };
  const spec = { name: "f", assemble, env: {}, timeoutMs: 5_000, concurrency };
  return { clock, counts, local: localFunction(spec, { clock, log: silentLog }) };
}

describe("a local function", () => {
  test("a local function is created once and reused", async () => {
    const { local, counts } = setup(async (event) => event.toUpperCase());
    expect([await local.invoke("a"), await local.invoke("b")]).toEqual(["A", "B"]);
    expect(counts.assembled).toBe(1);
  });

  test("a local function serves one event at a time in each environment, and has no more environments than its concurrency", async () => {
    const gates: (() => void)[] = [];
    const { local, counts } = setup(async (event) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      return event;
    }, 2);
    const answers = ["a", "b", "c"].map((event) => local.invoke(event));
    await new Promise(setImmediate);
    expect(gates).toHaveLength(2);
    gates[0]?.();
    expect(await answers[0]).toBe("a");
    await new Promise(setImmediate);
    expect(gates).toHaveLength(3);
    for (const open of gates) open();
    expect(await Promise.all(answers)).toEqual(["a", "b", "c"]);
    expect(counts.assembled).toBe(2);
  });

  test("a renewed local function ends what is under way in its old environment, and serves later events in a new one", async () => {
    const gates: (() => void)[] = [];
    const { local, counts } = setup(async (event) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      return event;
    });
    const [first, second] = [local.invoke("a"), local.invoke("b")];
    await new Promise(setImmediate);
    local.renew();
    gates[0]?.();
    expect(await first).toBe("a");
    await new Promise(setImmediate);
    expect(counts).toEqual({ assembled: 2, closed: 1 });
    gates[1]?.();
    expect(await second).toBe("b");
    local.renew();
    expect(counts).toEqual({ assembled: 2, closed: 2 });
  });

  test("a local function gets the remaining time and a new id for each invocation", async () => {
    const { local, clock } = setup(async (_, invocation) => {
      const before = invocation.getRemainingTimeInMillis();
      await clock.advance(1_500);
      return `${before} ${invocation.getRemainingTimeInMillis()} ${invocation.awsRequestId}`;
    });
    const first = (await local.invoke("")).split(" ");
    const second = (await local.invoke("")).split(" ");
    expect(first.slice(0, 2)).toEqual(["5000", "3500"]);
    expect(first[2]).not.toBe(second[2]);
  });

  test("a local function is given up at its timeout, and its environment is not reused", async () => {
    let hang = true;
    const { local, clock, counts } = setup(async (event) => {
      if (hang) await new Promise(() => {});
      return event;
    });
    const first = local.invoke("a");
    const second = local.invoke("b");
    const givenUp = expect(first).rejects.toBeInstanceOf(TimedOut);
    await clock.advance(4_999);
    expect(counts.closed).toBe(0);
    hang = false;
    await clock.advance(1);
    await givenUp;
    expect(await second).toBe("b");
    expect(counts).toEqual({ assembled: 2, closed: 1 });
  });

  test("a local function passes on the handler's error, and remains usable", async () => {
    const { local, counts } = setup(async (event) => {
      if (event === "bad") throw new Error("bad event");
      return event;
    });
    await expect(local.invoke("bad")).rejects.toThrow("bad event");
    expect(await local.invoke("good")).toBe("good");
    expect(counts.assembled).toBe(1);
  });

  test("a local function's close waits for running invocations, but not for ever", async () => {
    const { local, clock, counts } = setup(() => new Promise(() => {}), 2);
    void local.invoke("a");
    await new Promise(setImmediate);
    const closing = local.close(2_000);
    await clock.advance(2_000);
    await closing;
    expect(counts).toEqual({ assembled: 1, closed: 0 });
  });
});
