import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type Claim,
  claimRequest,
  keepAnswer,
  keptHours,
  leaseSeconds,
  letGo,
  writeStep,
} from "../../lib/idempotency/kept-requests.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour, second } from "../support/instants.ts";

let world: Carillon;
const name = { tokenId: randomUUID(), key: "order-1" };
const [body, otherBody] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const answer = Buffer.from("answer");
const result = Buffer.from("step");

beforeEach(async () => {
  world = await carillon();
  await world.sql`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
    values (${name.tokenId}, 'none', 'ann', 'admin', carillon.clock(), 'test')`;
});

afterEach(() => world.stop());

const ask = (fingerprint = body) => claimRequest(world.sql, name, fingerprint);

async function claim(): Promise<Claim> {
  const claimed = await ask();
  if (claimed.state !== "claimed") throw new Error(`The request is ${claimed.state}.`);
  return claimed.claim;
}

const step = (of: Claim, n: number) => world.sql.begin((tx) => writeStep(tx, of, { n, result }));

/** A request whose process outlived its lease, and that another process has taken over. */
async function overtaken(): Promise<{ old: Claim; current: Claim }> {
  const old = await claim();
  await world.clock.advance(leaseSeconds * second);
  return { old, current: await claim() };
}

test("A request that is under way is reported as running, and is not started a second time", async () => {
  await claim();
  // Two processes would carry the request out twice.
  expect(await ask()).toEqual({ state: "running", seconds: leaseSeconds });
});

test("A request that another process has taken over commits no further step", async () => {
  const { old, current } = await overtaken();
  // The old process would otherwise commit beside the new one.
  expect(await step(old, 0)).toBe(false);
  expect(await step(current, 0)).toBe(true);
});

test("A request that another process has taken over does not store its own answer", async () => {
  const { old, current } = await overtaken();
  expect(await keepAnswer(world.sql, old, { answer, steps: 0 })).toBe(false);
  expect(await keepAnswer(world.sql, current, { answer, steps: 0 })).toBe(true);
});

test("A request that another process has taken over does not release that process's claim", async () => {
  const { old, current } = await overtaken();
  await letGo(world.sql, old);
  expect(await ask()).toMatchObject({ state: "running" });
  await step(current, 0);
  await letGo(world.sql, old);
  // A third process would otherwise start beside the second.
  expect(await ask()).toMatchObject({ state: "running" });
});

test("A released request keeps its committed steps: a retry continues after them, and no other request gets the key", async () => {
  const first = await claim();
  await step(first, 0);
  await letGo(world.sql, first);
  expect(await ask(otherBody)).toEqual({ state: "different" });
  // Without the steps, the retry would repeat its first transaction.
  expect(await ask()).toMatchObject({ state: "claimed", before: [result] });
});

test("A request whose process died is taken over only by a retry of the same request", async () => {
  await claim();
  await world.clock.advance(leaseSeconds * second);
  // Another request would otherwise be answered with the steps of this one.
  expect(await ask(otherBody)).toEqual({ state: "different" });
  expect(await ask()).toMatchObject({ state: "claimed", claim: { claim: 2 } });
});

test("An unanswered request expires after a day, with its steps", async () => {
  const first = await claim();
  await step(first, 0);
  await world.clock.advance(keptHours * hour);
  expect(await ask()).toMatchObject({ state: "claimed", claim: { claim: 1 }, before: [] });
});
