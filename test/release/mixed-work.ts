import { expect } from "vitest";
import { z } from "zod";
import { type EventParts, httpEvent } from "../api/http-event.ts";
import { minute } from "../support/instants.ts";
import { type MixedWorld, queueNames, token } from "./mixed-world.ts";

const intervalMinutes = 5;
const secret = `whsec_${Buffer.alloc(32, "k").toString("base64")}`;
const stackId =
  "arn:aws:cloudformation:eu-central-1:123456789012:stack/Shop/4ba13f10-7d3b-11f0-a1b2-0a1b2c3d4e5f";

/** The ways of messages between functions. Each goes from the first function to the second. */
export const channels = [
  "parcel of a tick",
  "parcel of a tick, slow",
  "parcel of an edit",
  "parcel of a command",
  "pulse parcel",
  "webhook",
  "credential",
  "vault",
  "lifecycle event",
  "stack",
  "cursor",
  "idempotency key",
] as const;

const answerShape = z.looseObject({
  statusCode: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
});

async function request(world: MixedWorld, method: string, path: string, more: EventParts = {}) {
  const headers = { authorization: `Bearer ${token}`, ...more.headers };
  const event = httpEvent(method, path, { ...more, headers });
  const answer = answerShape.parse(await world.invoke("api", event));
  expect(answer.statusCode, `${method} ${path}: ${answer.body}`).toBeLessThan(300);
  return answer;
}

const put = (world: MixedWorld, key: string, body: object) =>
  request(world, "PUT", `/v1/schedules/${key}`, { body });

const every = { when: `every ${intervalMinutes}m` };
const toQueue = { target: { queue: queueNames.arrivals } };

/** Puts the schedules that fire in each round. */
export async function begin(world: MixedWorld): Promise<void> {
  await put(world, "steady", { ...every, ...toQueue });
  await put(world, "greeting", { ...every, target: { handler: "greet" } });
  await put(world, "pulse", { ...every, ...toQueue, delivery: "pulse", spread: "0s" });
}

/**
 * Sends a message through each channel and works on all of them. `between` is called when all are made and
 * none is taken.
 */
export async function round(world: MixedWorld, n: number, between: () => void = () => {}): Promise<void> {
  await ask(world, n);
  await goOn(world, n);
  await world.clock.advance(intervalMinutes * minute);
  await tick(world);
  for (const channel of ["parcel of a tick", "parcel of a tick, slow", "pulse parcel"])
    world.made(channel, "tick");
  between();
  await takeAll(world);
  await expectOnce(world, n);
}

/** The edits of a round, by each door. */
async function ask(world: MixedWorld, n: number): Promise<void> {
  const target = { webhook: { url: world.hookUrl, secret } };
  await put(world, `hook:${n}`, { when: `in ${intervalMinutes}m`, target });
  world.made("credential", "api");
  await request(world, "POST", "/v1/credential-keys");
  await request(world, "POST", "/v1/credential-keys/seal-again");
  await world.invoke("stack", {
    RequestType: "Create",
    ResponseURL: world.answerUrl,
    StackId: stackId,
    RequestId: `request-${n}`,
    LogicalResourceId: `Weekly${n}`,
    ResourceType: "Custom::CarillonSchedule",
    ResourceProperties: { ServiceToken: "arn", key: `stack:${n}`, when: "0 9 * * MON", ...toQueue },
  });
  expect(world.stackAnswers.at(-1)).toMatchObject({ Status: "SUCCESS", PhysicalResourceId: `stack:${n}` });
}

/**
 * Goes on with what a request of the round before began: the next page of a list, and the same request with
 * the same key once more.
 */
async function goOn(world: MixedWorld, n: number): Promise<void> {
  const kept = world.kept;
  if (kept !== null) {
    await request(world, "GET", "/v1/schedules", { query: `limit=1&cursor=${kept.cursor}` });
    world.taken("cursor", "api");
    const again = await fireOnce(world, n - 1);
    expect(again.headers).toMatchObject({ "idempotent-replayed": "true" });
    expect(again.body).toBe(kept.answer);
    world.taken("idempotency key", "api");
  }
  const page = await request(world, "GET", "/v1/schedules", { query: "limit=1" });
  const { cursor } = z.looseObject({ cursor: z.string() }).parse(JSON.parse(page.body));
  world.kept = { cursor, answer: (await fireOnce(world, n)).body };
  for (const channel of ["cursor", "idempotency key", "parcel of an edit"]) world.made(channel, "api");
}

const fireOnce = (world: MixedWorld, n: number) =>
  request(world, "POST", "/v1/schedules/steady/fire", { headers: { "idempotency-key": `fire-${n}` } });

async function tick(world: MixedWorld): Promise<void> {
  world.isBusOpen = true;
  await world.invoke("tick", { ticks: 1, tick: 0, time: world.clock.now().toISOString() });
  if (world.events.length > 0) world.taken("lifecycle event", "tick");
}

async function takeAll(world: MixedWorld): Promise<void> {
  // A worker's event stays in the outbox, for the tick of the next round.
  world.isBusOpen = false;
  await world.send("ingest", { job: { ...toQueue }, at: world.clock.now().toISOString() });
  await world.work("ingest", "ingest");
  world.made("parcel of a command", "ingest");
  await world.work("fast", "fast");
  for (const channel of ["parcel of a tick", "parcel of an edit", "parcel of a command", "pulse parcel"])
    world.taken(channel, "fast");
  world.made("lifecycle event", "fast");
  await world.work("slow", "slow");
  world.taken("parcel of a tick, slow", "slow");
  world.taken("credential", "webhook");
}

/** Each occurrence of the round has arrived once, and the ledger has no other outcome. */
async function expectOnce({ sql, hooks, events, ...world }: MixedWorld, n: number): Promise<void> {
  const arrived = await world.arrived();
  const keys = arrived.map(({ schedulekey }) => schedulekey.replace(/^job:.*/, "command"));
  expect(keys.toSorted(), `arrivals of round ${n}`).toEqual(["command", "pulse", "steady", "steady"]);
  expect(new Set(arrived.map(({ id }) => id)).size).toBe(arrived.length);
  expect(hooks.splice(0), `webhooks of round ${n}`).toMatchObject([
    { headers: { "webhook-signature": expect.stringMatching(/^v1,/) }, body: { schedulekey: `hook:${n}` } },
  ]);
  const told = n === 0 ? [] : Array.from({ length: 3 }, () => ({ type: "carillon.job.succeeded" }));
  expect(events.splice(0), `events of round ${n - 1}`).toMatchObject(told);
  const states = await sql<{ state: string; jobs: number }[]>`
    select state::text, count(*)::int as jobs from carillon.jobs group by state`;
  // The jobs of a round: two of `steady`, that of the greeting, of the webhook and of the command.
  expect(states, `the ledger after round ${n}`).toEqual([{ state: "succeeded", jobs: 5 * (n + 1) }]);
}
