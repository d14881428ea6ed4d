import { afterAll, beforeAll, expect, test } from "vitest";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import { leaseSeconds } from "../../lib/idempotency/kept-requests.ts";
import { type Asked, type KeyedWorld, keyedWorld } from "./idempotency-world.ts";

let world: KeyedWorld;

beforeAll(async () => {
  world = await keyedWorld();
});

afterAll(() => world.close());

const patch: Asked = {
  method: "PATCH",
  path: "/v1/schedules/slow",
  body: { payload: 1 },
  headers: { "idempotency-key": "slow" },
};

/** Waits until the request is claimed and blocked in its transaction. */
async function untilItWaits(): Promise<void> {
  for (;;) {
    const waiting = await world.sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting.length > 0) return;
  }
}

test("A request whose transaction takes as long as its function lives is not taken over", async () => {
  const body = { when: "every 1h", target: { queue: "demo" } };
  await world.send({ method: "PUT", path: "/v1/schedules/slow", body });
  const { first, early } = await world.sql.begin(async (tx) => {
    await tx`select from carillon.schedules where key = 'slow' for update`;
    const first = world.send(patch);
    await untilItWaits();
    await world.clock.advance(functionTimeoutSeconds.api * 1_000);
    return { first, early: await world.send(patch) };
  });
  expect(early).toMatchObject({
    status: 409,
    headers: { "retry-after": String(leaseSeconds - functionTimeoutSeconds.api) },
  });
  expect(await first).toMatchObject({ status: 200, json: { version: 2 } });
  expect(await world.send(patch)).toMatchObject({
    status: 200,
    headers: { "idempotent-replayed": "true" },
    json: { version: 2 },
  });
});
