import { afterEach, beforeEach, expect, test } from "vitest";
import type { Measured } from "../../lib/log/metrics.ts";
import { readProblems } from "../../lib/problems/read-problems.ts";
import { measureTick } from "../../lib/tick/housekeeping/measure.ts";
import { type Two, twoInstallations } from "../move/two-installations.ts";
import { minute, second } from "../support/instants.ts";
import { recordedLog } from "../support/recorded-log.ts";

let two: Two;

beforeEach(async () => {
  two = await twoInstallations();
  await two.run();
});

afterEach(() => two.stop());

const problems = async (prefix: string | null = null) =>
  (await readProblems(two.old.as.api, prefix)).problems.filter(({ kind }) => kind === "move-unfinished");

/** A minute and a second, with a tick. */
async function pass(): Promise<void> {
  await two.advance(minute + second);
  await two.run();
}

test("Problems name schedules that have left by an open move and not arrived for a minute, until they arrive", async () => {
  for (const name of ["a", "b"]) await two.old.put(`acme:${name}`, { when: "every 1h" });
  const { source, drive } = await two.begin("acme:");
  await source.take((await source.freeze({ after: "", limit: 10 })).ids);
  expect(await problems()).toEqual([]);
  const left = two.old.clock.now();
  await pass();
  expect(await readProblems(two.old.as.api, null)).toMatchObject({ verdict: "on-time" });
  expect(await problems()).toMatchObject([
    {
      kind: "move-unfinished",
      since: left,
      count: { count: 2, more: false },
      text: '2 schedules of "acme:" have left for https://new.example at 2026-03-02T10:00:00Z: they have not arrived, and run in neither installation. Unless `carillon move` is running, run it again.',
      see: { path: "/v1/moves", query: {} },
      command: "carillon move --prefix acme: --to https://new.example",
    },
  ]);
  expect(await problems("acme:")).toEqual([]);
  await drive();
  expect(await problems()).toEqual([]);
});

test("Problems name schedules that an open move has stopped a minute ago and not taken", async () => {
  await two.old.put("acme:a", { when: "every 1h" });
  await two.old.put("acme:b", { when: "every 1h" });
  const { source } = await two.begin("acme:");
  await source.freeze({ after: "", limit: 1 });
  expect(await problems()).toEqual([]);
  await pass();
  expect(await problems()).toMatchObject([
    {
      count: { count: 1, more: false },
      text: '1 schedule of "acme:" is stopped by the move to https://new.example since 2026-03-02T10:00:00Z. Unless `carillon move` is running, run it again.',
    },
  ]);
  await source.end({ abandon: true });
  expect(await problems()).toEqual([]);
});

test("A tick reports a move that has kept schedules for a quarter of an hour, until it has gone on", async () => {
  for (const name of ["a", "b"]) await two.old.put(`acme:${name}`, { when: "every 1h" });
  const log = recordedLog();
  const measured = async () => {
    const written: Measured[] = [];
    const metrics = { write: (line: Measured) => void written.push(line) };
    await measureTick({ sql: two.old.as.tick, log, metrics }, { rolledUp: undefined, ms: 1 });
    return written.map(({ UnfinishedMoves }) => UnfinishedMoves);
  };
  const { source, drive } = await two.begin("acme:");
  await source.take((await source.freeze({ after: "", limit: 1 })).ids);
  await source.freeze({ after: "acme:a", limit: 1 });
  await two.advance(15 * minute - second);
  expect(await measured()).toEqual([undefined]);
  await two.advance(second);
  expect(await measured()).toEqual([1]);
  expect(log.lines).toMatchObject([
    {
      event: "tick.move-unfinished",
      fields: { prefix: "acme:", peer: "https://new.example", away: 1, stopped: 1 },
    },
  ]);
  await drive();
  expect(await measured()).toEqual([undefined]);
});
