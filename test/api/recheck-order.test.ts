import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { assemble } from "../../functions/api.ts";
import { handlers } from "../../functions/handlers.ts";
import { localRegion } from "../../lib/tools/local/local-account.ts";
import { at, hour, minute } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "../target/handler-world.ts";
import { type EventParts, httpEvent, invocation } from "./http-event.ts";

/**
 * The example of the documentation, over HTTP and with the real handler: an order that is not
 * shipped.
 */
let world: HandlerWorld;
let api: ReturnType<typeof assemble>;

beforeEach(async () => {
  world = await handlerWorld(...handlers);
  const hash = createHash("sha256").update("shop-token").digest();
  await world.sql`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
    values (gen_random_uuid(), ${hash}, 'shop', 'write', carillon.clock(), 'test')`;
  // No job is due soon enough for the API itself to send it.
  const unreachable = "http://127.0.0.1:9";
  api = assemble({
    DATABASE_URL: world.databaseUrl,
    FAST_QUEUE_URL: `${unreachable}/000000000000/fast`,
    SLOW_QUEUE_URL: `${unreachable}/000000000000/slow`,
    AWS_REGION: localRegion,
    AWS_ENDPOINT_URL_SQS: unreachable,
    CARILLON_LOG: "silent",
  });
});

afterEach(async () => {
  await api.close();
  await world.stop();
});

async function send(method: string, path: string, parts: EventParts = {}) {
  const headers = { authorization: "Bearer shop-token" };
  const answer = await api.handler(httpEvent(method, path, { ...parts, headers }), invocation);
  return { status: answer.statusCode, json: answer.body === "" ? undefined : JSON.parse(answer.body) };
}

const path = "/v1/schedules/order:1:unshipped";
const params = {
  when: "in 4h",
  group: "order:1",
  target: { handler: "order-unshipped" },
  payload: { orderId: 1 },
};
const created = () => send("PUT", path, { body: params });
const read = async () => (await send("GET", path)).json;
const jobs = async () => (await send("GET", `${path}/jobs`)).json;
const explained = async (instant: number) =>
  (await send("GET", `${path}/explain`, { query: `at=${iso(instant)}` })).json;

/** Runs ticks and workers, minute by minute around an instant. */
async function until(instant: number): Promise<void> {
  for (const moment of [instant - minute, instant, instant + minute]) {
    await world.clock.setNow(at(moment));
    await world.runDue();
  }
}

const said = () =>
  world.log.lines.filter(({ event }) => event.startsWith("handler.")).map(({ event }) => event);
const iso = (instant: number) => at(instant).toISOString();

describe("the order example", () => {
  test("An order that is not shipped alerts, is checked again, escalates and ends", async () => {
    expect(await created()).toMatchObject({
      status: 201,
      json: { checks: 0, nextAt: iso(4 * hour), state: "active" },
    });
    await until(4 * hour);
    expect(said()).toEqual(["handler.order-unshipped"]);
    expect(await read()).toMatchObject({
      state: "active",
      checks: 1,
      nextAt: iso(24 * hour),
      lastJob: { kind: "cadence", state: "succeeded", checks: 0 },
    });
    await until(24 * hour);
    expect(said()).toEqual(["handler.order-unshipped", "handler.order-escalated"]);
    expect(await read()).toMatchObject({
      state: "ended",
      checks: 1,
      nextAt: null,
      lastJob: { kind: "again" },
    });
    const root = `1-${at(4 * hour).getTime()}-c0`;
    expect(await jobs()).toMatchObject({
      items: [
        {
          kind: "again",
          checks: 1,
          recheckOf: root,
          state: "succeeded",
          startedAt: iso(24 * hour),
          finishedAt: iso(24 * hour),
          durationMs: 0,
        },
        { id: root, kind: "cadence", checks: 0, recheckOf: null, state: "succeeded" },
      ],
    });
    expect(await explained(24 * hour)).toMatchObject({
      outcome: "ran",
      recheck: { of: root, number: 1, followed: 0 },
      sentence: expect.stringMatching(
        /^Is no occurrence but recheck 1 of the run of 2026-03-02T14:00:00Z\. Ran,/,
      ),
    });
  });

  test("An order that is shipped between alert and escalation ends at once, without further checks", async () => {
    await created();
    await until(4 * hour);
    await world.clock.setNow(at(10 * hour));
    expect(await send("DELETE", path)).toMatchObject({ status: 204 });
    expect(await send("GET", path)).toMatchObject({ status: 404 });
    await until(24 * hour);
    expect(said()).toEqual(["handler.order-unshipped"]);
    expect(await world.jobs()).toMatchObject([
      { state: "succeeded" },
      { state: "cancelled", reason: "deleted", finishedAt: at(10 * hour) },
    ]);
  });

  test("An order whose schedule is put again between alert and escalation starts over", async () => {
    await created();
    await until(4 * hour);
    await world.clock.setNow(at(10 * hour));
    expect(await created()).toMatchObject({
      status: 200,
      json: { version: 2, checks: 0, nextAt: iso(14 * hour) },
    });
    await until(14 * hour);
    expect(await read()).toMatchObject({ state: "active", checks: 1, nextAt: iso(34 * hour) });
    await until(24 * hour);
    expect(said()).toEqual(["handler.order-unshipped", "handler.order-unshipped"]);
    await until(34 * hour);
    expect(said()).toEqual(["handler.order-unshipped", "handler.order-unshipped", "handler.order-escalated"]);
    expect(await read()).toMatchObject({ state: "ended", checks: 1 });
    expect(await jobs()).toMatchObject({
      items: [
        { kind: "again", state: "succeeded" },
        { kind: "again", state: "cancelled", reason: "superseded", occurrence: iso(24 * hour) },
        { kind: "cadence", state: "succeeded" },
        { kind: "cadence", state: "succeeded" },
      ],
    });
    expect(await explained(24 * hour)).toMatchObject({
      outcome: "cancelled",
      reason: "superseded",
      sentence: expect.stringContaining("edited by token `shop` (version 2)"),
    });
  });
});
