import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import { applyBatch } from "../../lib/command/apply-batch.ts";
import { applyInbox } from "../../lib/inbox/apply-inbox.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { oddHandlers, oddNames, secret } from "../command/odd-schemas.ts";
import { inboxWorld } from "../inbox/inbox-world.ts";
import { ingestWorld } from "../ingest/ingest-world.ts";
import { carillon } from "../support/carillon.ts";
import { second } from "../support/instants.ts";
import { bothJobs, ranOddBesideOther, succeeded, triedAgain } from "../target/odd-beside-other.ts";

/** How long the schemas of a test have taken so far. */
let takenMs = 0;
let stop: () => Promise<void> = async () => {};
afterEach(async () => {
  takenMs = 0;
  await stop();
});

const job = (name: string, payload: z.ZodType) => defineJob({ name, payload, run: async () => {} });

const handlers = [
  ...oddHandlers,
  job(
    "silent",
    z.unknown().refine(() => new Promise<boolean>(() => {})),
  ),
  job(
    "slow",
    z.unknown().refine(() => {
      takenMs += 10 * second;
      return true;
    }),
  ),
];
const acceptance = acceptanceOf({ handlers, targets: allowedTargetsFrom({ AWS_REGION: "local" }) });

const put = (key: string, handler: string) => ({
  put: { key, when: "every 1h", target: { handler }, payload: { n: 1 } },
});

/** Slow and plain schemas in turn. */
const slowAndPlain = Array.from({ length: 8 }, (_, n) => put(`${n}`, n % 2 === 0 ? "slow" : "plain"));
const isPut = async ({ sql }: { sql: Awaited<ReturnType<typeof carillon>>["sql"] }) =>
  (await sql<{ key: string }[]>`select key from carillon.schedules order by key`).map(({ key }) => key);

test.each(["silent", "endless"])(
  "An inbox command whose schema never answers (%s) is refused, and the others are applied in the same tick",
  async (name) => {
    const world = await inboxWorld();
    stop = world.stop;
    world.more.tick = { acceptance };
    for (const [key, handler] of [
      ["a", "plain"],
      ["b", name],
      ["c", "plain"],
    ] as const)
      await world.caller
        .sql`select carillon.put_schedule(${JSON.stringify(put(key, handler).put)}::text::jsonb)`;
    await world.tick();
    expect(await isPut(world)).toEqual(["a", "c"]);
    expect(await world.refused()).toMatchObject([{ key: "b" }]);
  },
);

test("Inbox commands whose schema takes ten seconds are read while there is time, and the read ones are applied", async () => {
  const world = await inboxWorld();
  stop = world.stop;
  for (const { put: body } of slowAndPlain)
    await world.caller.sql`select carillon.put_schedule(${JSON.stringify(body)}::text::jsonb)`;
  const apply = () => {
    const until = takenMs + 15 * second;
    const deps = { sql: world.as.tick, queue: world.queue, log: world.log, acceptance };
    return applyInbox(deps, { most: 1_000, timeIsUp: () => takenMs > until, mustEnd: () => false });
  };
  expect(await apply()).toMatchObject({ applied: 3, failed: 0, more: true });
  expect(takenMs).toBe(20 * second);
  expect(await isPut(world)).toEqual(["0", "1", "2"]);
  await apply();
  await apply();
  expect(await isPut(world)).toEqual(slowAndPlain.map(({ put: { key } }) => key));
});

test.each(["silent", "endless"])(
  "A queue command whose schema never answers (%s) is refused, and the others are applied",
  async (name) => {
    const world = await ingestWorld();
    stop = world.stop;
    world.deps.acceptance = acceptance;
    const messages = [put("a", "plain"), put("b", name), put("c", "plain")];
    expect(await world.ingest(messages.map((body) => ({ body })))).toEqual([]);
    expect(await isPut(world.carillon)).toEqual(["a", "c"]);
    expect(await world.carillon.sql`select key from carillon.dead_commands`).toEqual([{ key: "b" }]);
  },
);

test("Messages whose schema takes ten seconds are read while there is time, and the read ones are applied", async () => {
  const world = await ingestWorld();
  stop = world.stop;
  world.deps.acceptance = acceptance;
  const messages = slowAndPlain.map((body) => ({ id: body.put.key, body }));
  const stay = await world.ingest(messages, () => takenMs > 15 * second);
  expect(takenMs).toBe(20 * second);
  expect(stay).toEqual(["3", "4", "5", "6", "7"]);
  expect(await isPut(world.carillon)).toEqual(["0", "1", "2"]);
});

test.each(["silent", ...oddNames])(
  "An operation of a batch whose schema fails (%s) is refused at once, and the others are done",
  async (name) => {
    const world = await carillon();
    stop = world.stop;
    const commands = [put("a", "plain"), put("b", name), put("c", "plain")].map((input) => ({
      input,
      caller: { name: "ann" },
    }));
    const results = await applyBatch({ ...world, acceptance }, commands);
    expect(results).toMatchObject([{ change: "created" }, { change: "refused" }, { change: "created" }]);
    expect(JSON.stringify([results, world.log.lines])).not.toContain(secret);
  },
);

test("An operation of a batch whose schema takes ten seconds is done after it, and the others too", async () => {
  const world = await carillon();
  stop = world.stop;
  const commands = slowAndPlain.map((input) => ({ input, caller: { name: "ann" } }));
  const results = await applyBatch({ ...world, acceptance }, commands);
  expect(results.map(({ change }) => change)).toEqual(slowAndPlain.map(() => "created"));
  expect(takenMs).toBe(40 * second);
});

test.each<[string, () => Promise<boolean>]>([
  ["never answers", () => new Promise(() => {})],
  ["rejects", () => Promise.reject(new Error(secret))],
])("A schema that %s fails its job at once, and its neighbour succeeds", async (_, answer) => {
  const schema = z.unknown().refine((payload) => (payload === "odd" ? answer() : true));
  const world = await ranOddBesideOther(job("odd", schema));
  stop = world.stop;
  const { odd, other } = await bothJobs(world);
  expect(odd).toMatchObject({
    ...triedAgain,
    error: expect.stringContaining("its schema returned a promise"),
  });
  expect(other).toMatchObject(succeeded);
  expect(JSON.stringify(world.log.lines)).not.toContain(secret);
});

test("A schema that takes ten seconds delays its job and the next one by no more than that", async () => {
  const world = await ranOddBesideOther(
    job(
      "slow",
      z.unknown().refine(() => {
        takenMs += 10 * second;
        return true;
      }),
    ),
  );
  stop = world.stop;
  const { odd, other } = await bothJobs(world);
  expect([odd, other]).toMatchObject([succeeded, succeeded]);
  expect(takenMs).toBe(20 * second);
});

test("A schema that never ends fails its job, and its neighbour succeeds", async () => {
  const schema = z.unknown().refine((payload) => payload !== "odd" || /^(a+)+$/.test(`${"a".repeat(80)}!`));
  const world = await ranOddBesideOther(job("odd", schema));
  stop = world.stop;
  const { odd, other } = await bothJobs(world);
  expect(odd).toMatchObject({ ...triedAgain, error: expect.stringContaining("its schema takes longer") });
  expect(other).toMatchObject(succeeded);
});

test("A payload is read the same beside one on which its schema never ends, in a batch and in a later one", async () => {
  const world = await carillon();
  stop = world.stop;
  const schema = z.unknown().refine((payload) => payload !== "odd" || /^(a+)+$/.test(`${"a".repeat(80)}!`));
  const own = acceptanceOf({
    handlers: [job("odd", schema)],
    targets: allowedTargetsFrom({ AWS_REGION: "local" }),
  });
  const apply = (payloads: readonly string[]) =>
    applyBatch(
      { ...world, acceptance: own },
      payloads.map((payload, n) => ({
        input: { put: { key: `${payload}-${n}`, when: "every 1h", target: { handler: "odd" }, payload } },
        caller: { name: "ann" },
      })),
    );
  const changes = async (payloads: readonly string[]) => (await apply(payloads)).map(({ change }) => change);
  expect(await changes(["a", "odd", "b", "c"])).toEqual(["created", "refused", "created", "created"]);
  expect(await changes(["d", "e", "odd"])).toEqual(["created", "created", "refused"]);
});
