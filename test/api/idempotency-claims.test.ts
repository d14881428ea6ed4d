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

/** A process that has not come to its end within its lease, and another one that works the request by now. */
async function overtaken(): Promise<{ old: Claim; current: Claim }> {
  const old = await claim();
  await world.clock.advance(leaseSeconds * second);
  return { old, current: await claim() };
}

test("a request that is under way is told so, and is not begun a second time", async () => {
  await claim();
  // Worked by two at once, what it asks for would be done twice.
  expect(await ask()).toEqual({ state: "running", seconds: leaseSeconds });
});

test("a request that was overtaken commits no step", async () => {
  const { old, current } = await overtaken();
  // Each transaction of the old process would be done beside that of the new one.
  expect(await step(old, 0)).toBe(false);
  expect(await step(current, 0)).toBe(true);
});

test("a request that was overtaken keeps no answer in place of the one that is worked", async () => {
  const { old, current } = await overtaken();
  expect(await keepAnswer(world.sql, old, { answer, steps: 0 })).toBe(false);
  expect(await keepAnswer(world.sql, current, { answer, steps: 0 })).toBe(true);
});

test("a request that was overtaken does not let the one go that is worked", async () => {
  const { old, current } = await overtaken();
  await letGo(world.sql, old);
  expect(await ask()).toMatchObject({ state: "running" });
  await step(current, 0);
  await letGo(world.sql, old);
  // A third process would begin beside the second.
  expect(await ask()).toMatchObject({ state: "running" });
});

test("a request of which something is done is let go with what it did: it goes on there, and stands for no other", async () => {
  const first = await claim();
  await step(first, 0);
  await letGo(world.sql, first);
  expect(await ask(otherBody)).toEqual({ state: "different" });
  // Begun anew, its first transaction would be done twice.
  expect(await ask()).toMatchObject({ state: "claimed", before: [result] });
});

test("a request that lost its process is taken over by the same request only", async () => {
  await claim();
  await world.clock.advance(leaseSeconds * second);
  // Another body would be told that it was done with the steps of this one.
  expect(await ask(otherBody)).toEqual({ state: "different" });
  expect(await ask()).toMatchObject({ state: "claimed", claim: { claim: 2 } });
});

test("a request that was never answered is another one after a day, with nothing of the first", async () => {
  const first = await claim();
  await step(first, 0);
  await world.clock.advance(keptHours * hour);
  expect(await ask()).toMatchObject({ state: "claimed", claim: { claim: 1 }, before: [] });
});
