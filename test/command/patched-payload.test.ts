import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import { applyCommands, type CommandResult, readCommands } from "../../lib/command/apply-commands.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { restoreVersion } from "../../lib/edit/restore.ts";
import { patchSchedule } from "../../lib/edit/schedule-edits.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { PassingConflict } from "../../lib/refusal.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

let world: Carillon;
/** For each run of the handler's schema, the number of open transactions. */
let openAt: number[];
let open: number;
let beforeBegin: (nth: number) => Promise<void>;

const caller = { name: "ann" };
const small = z.record(z.string(), z.number()).refine((payload) => {
  openAt.push(open);
  return Object.values(payload).every((value) => value < 100);
});
const acceptance = acceptanceOf({
  handlers: [defineJob({ name: "strict", payload: small, run: async () => {} })],
  targets: allowedTargetsFrom({ AWS_REGION: "us-east-1" }),
});

beforeEach(async () => {
  world = await carillon();
  openAt = [];
  open = 0;
  beforeBegin = async () => {};
  for (const key of ["one", "two"])
    await world.put(key, { when: "every 1h", target: { handler: "strict" }, payload: { a: 1 } });
});

afterEach(() => world.stop());

/** The same connections, with a count of those in a transaction. */
function counted(sql: Sql): Sql {
  let nth = 0;
  const counting =
    (begin: Sql["beginByReading"]): Sql["beginByReading"] =>
    async (work) => {
      nth += 1;
      await beforeBegin(nth);
      open += 1;
      try {
        return await begin(work);
      } finally {
        open -= 1;
      }
    };
  return new Proxy(sql, {
    get: (of, name) =>
      name === "begin" || name === "beginByReading" ? counting(of[name]) : Reflect.get(of, name),
  });
}

const deps = () => ({ sql: counted(world.sql), queue: world.queue });
const payloadOf = async (key: string) => (await readSchedule(world.sql, key))?.body.payload;

async function commands(...inputs: object[]): Promise<CommandResult[]> {
  const read = readCommands(
    inputs.map((input) => ({ input, caller })),
    acceptance,
  );
  return applyCommands(deps(), read);
}

test("the schema of a patched payload runs without an open transaction, and its result is stored", async () => {
  await patchSchedule(deps(), { key: "one", caller, patch: { payload: { b: 2 } } }, acceptance.patched);
  expect(openAt.length).toBeGreaterThan(0);
  expect(openAt.every((count) => count === 0)).toBe(true);
  expect(await payloadOf("one")).toEqual({ a: 1, b: 2 });
});

test("a patched payload that the schema does not accept is refused, and nothing changes", async () => {
  await expect(
    patchSchedule(deps(), { key: "one", caller, patch: { payload: { b: 200 } } }, acceptance.patched),
  ).rejects.toMatchObject({ kind: "impossible", faults: [{ path: "payload" }] });
  expect(openAt.every((count) => count === 0)).toBe(true);
  expect(await payloadOf("one")).toEqual({ a: 1 });
});

test("a patch that leaves the payload and the target unchanged runs no schema", async () => {
  await patchSchedule(deps(), { key: "one", caller, patch: { when: "every 2h" } }, acceptance.patched);
  expect(openAt).toEqual([]);
});

test("a payload that another edit has changed since it was checked is checked again", async () => {
  beforeBegin = async (nth) => {
    if (nth === 2) await world.patch("one", { payload: { a: 200 } });
  };
  await expect(
    patchSchedule(deps(), { key: "one", caller, patch: { payload: { b: 2 } } }, acceptance.patched),
  ).rejects.toMatchObject({ kind: "impossible" });
  expect(await payloadOf("one")).toEqual({ a: 200 });
});

test("a patch ends as a conflict that may pass if other edits change its schedule at each attempt", async () => {
  beforeBegin = async (nth) => {
    await world.patch("one", { payload: { a: nth } });
  };
  await expect(
    patchSchedule(deps(), { key: "one", caller, patch: { payload: { b: 2 } } }, acceptance.patched),
  ).rejects.toBeInstanceOf(PassingConflict);
});

test("the schemas of many patches, also of several to one key, run without an open transaction", async () => {
  const results = await commands(
    { patch: { key: "one", payload: { b: 2 } } },
    { patch: { key: "two", payload: { b: 200 } } },
    { patch: { key: "one", payload: { c: 3 } } },
    { patch: { key: "one", payload: { d: 300 } } },
    { patch: { key: "one", payload: { e: 5 } } },
  );
  expect(results.map(({ change }) => change)).toEqual([
    "changed",
    "refused",
    "changed",
    "refused",
    "changed",
  ]);
  expect(openAt.every((count) => count === 0)).toBe(true);
  expect(await payloadOf("one")).toEqual({ a: 1, b: 2, c: 3, e: 5 });
  expect(await payloadOf("two")).toEqual({ a: 1 });
});

test("many patches of one key are checked together", async () => {
  let begun = 0;
  beforeBegin = async (nth) => {
    begun = nth;
  };
  const patches = Array.from({ length: 20 }, (_, n) => ({
    patch: { key: "one", payload: { [`n${n}`]: n } },
  }));
  await commands(...patches);
  expect(begun).toBe(2);
});

test("a version that is restored is checked without an open transaction", async () => {
  await world.patch("one", { payload: { a: 2 } });
  await restoreVersion(deps(), { key: "one", caller, version: 1 }, acceptance.body);
  expect(openAt.length).toBeGreaterThan(0);
  expect(openAt.every((count) => count === 0)).toBe(true);
  expect(await payloadOf("one")).toEqual({ a: 1 });
});
