import { expect, test } from "vitest";
import { type Part, takeTurns } from "../../lib/tick/housekeeping/take-turns.ts";

type Work = "a" | "b" | "c";

/** A tick of forty seconds, whose clock advances by the time that the parts report. */
function ticking() {
  const calls: string[] = [];
  const failures: unknown[] = [];
  let now = 0;
  return {
    calls,
    failures,
    takes: (ms: number) => {
      now += ms;
    },
    run: async (
      parts: readonly Part<Work>[],
      { minute = 0, there = ["a", "b", "c"] }: { minute?: number; there?: readonly Work[] } = {},
    ) => {
      now = 0;
      calls.length = 0;
      const timeIsUp = () => now >= 40_000;
      const note = (error: unknown) => void failures.push(error);
      const isThere = (work: Work) => there.includes(work);
      await takeTurns(parts, { isThere, minute, now: () => now, timeIsUp, note });
      return [...calls];
    },
  };
}

test("A part of the housekeeping that always has more to do lets the next parts run in the same tick, and continues after them", async () => {
  const tick = ticking();
  const endless: Part<Work> = {
    of: "a",
    act: async (timeIsUp) => {
      tick.calls.push("endless");
      while (!timeIsUp()) tick.takes(500);
    },
  };
  const short: Part<Work> = { of: "b", act: async () => void tick.calls.push("short") };
  const calls = await tick.run([endless, short], { minute: 1 });
  expect(calls.slice(0, 4)).toEqual(["short", "endless", "short", "endless"]);
  expect(calls.filter((call) => call === "endless").length).toBeGreaterThan(10);
  expect(calls.filter((call) => call === "short")).toHaveLength(2);
});

test("Even if one statement of a part takes all of each tick's time, each other part of the housekeeping runs first in a minute of its own", async () => {
  const tick = ticking();
  const names = ["a", "b", "c"] as const;
  const parts = names.map(
    (of): Part<Work> => ({
      of,
      act: async (timeIsUp) => {
        if (timeIsUp()) return;
        tick.calls.push(of);
        if (of === "a") tick.takes(60_000);
      },
    }),
  );
  const done = new Set<string>();
  for (const minute of [29_373_120, 29_373_121, 29_373_122])
    for (const call of await tick.run(parts, { minute })) done.add(call);
  expect([...done].toSorted()).toEqual([...names]);
});

test("A part of the housekeeping without work is skipped, unless an earlier part may have made some", async () => {
  const tick = ticking();
  const part = (of: Work, stirs?: true): Part<Work> => ({
    of,
    act: async () => void tick.calls.push(of),
    ...(stirs === undefined ? {} : { stirs }),
  });
  const parts = [part("a"), part("b", true), part("c")];
  expect(await tick.run(parts, { there: ["a"] })).toEqual(["a", "a"]);
  expect(await tick.run(parts, { there: ["b"] })).toEqual(["b", "c"]);
});

test("The failure of a part of the housekeeping is noted, and the other parts run", async () => {
  const tick = ticking();
  const broken: Part<Work> = { act: () => Promise.reject(new Error("broken")) };
  const calls = await tick.run([broken, { of: "b", act: async () => void tick.calls.push("b") }], {
    minute: 1,
  });
  expect(calls).toEqual(["b", "b"]);
  expect(tick.failures).toEqual([new Error("broken")]);
});
