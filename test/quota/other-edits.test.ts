import { afterAll, beforeAll, expect, test } from "vitest";
import { putOf, type QuotaWorld, quotaWorld } from "./quota-world.ts";

let world: QuotaWorld;
beforeAll(async () => {
  world = await quotaWorld();
});
afterAll(() => world.api.stop());

const detail = (json: unknown) => (Object(json) as { detail?: string }).detail;

test("A bulk patch that would exceed a quota changes what fits, and says why the rest is as it was", async () => {
  await world.define("bulk:=firesPerMinute=5");
  await world.batch(Array.from({ length: 10 }, (_, n) => putOf(`bulk:${n}`)));
  const { status, json } = await world.api.send("POST", "/v1/schedules:patch", {
    body: { filter: { prefix: "bulk:" }, patch: { when: "every 1m" } },
  });
  expect(status).toBe(200);
  expect(json).toMatchObject({ done: 4, failed: 6 });
  const { json: left } = await world.api.send("GET", "/v1/schedules", { query: "prefix=bulk:" });
  const each = (Object(left) as { items: { when: string }[] }).items.map(({ when }) => when);
  expect(each.toSorted()).toEqual([
    ...Array.from({ length: 6 }, () => "every 1h"),
    ...Array.from({ length: 4 }, () => "every 1m"),
  ]);
  expect(await world.noted()).toEqual(await world.counted());
});

test("A restored version and a job of one run count as other schedules do", async () => {
  await world.define("one:=schedules=2", "one:=payloadBytes=20");
  await world.put("one:a", { payload: "fifteen bytes" });
  await world.put("one:a", { payload: "short" });
  await world.put("one:b", { payload: "eleven by" });
  const restored = await world.api.send("POST", "/v1/schedules/one:a/versions/1/restore", { body: {} });
  expect([restored.status, detail(restored.json)]).toEqual([
    422,
    expect.stringContaining("bytes of payloads"),
  ]);
  const job = await world.api.send("POST", "/v1/jobs", { body: { key: "one:c", target: { queue: "demo" } } });
  expect([job.status, detail(job.json)]).toEqual([422, expect.stringContaining("3 schedules")]);
});

test("An edit is refused by the quotas that it adds to only, where limits were lowered below what is used", async () => {
  await world.define("low:=schedules=10");
  await world.batch([
    putOf("low:a"),
    putOf("low:b"),
    putOf("low:c", { when: "every 1m", payload: "long enough" }),
  ]);
  await world.define("low:=schedules=1", "low:=firesPerMinute=0", "low:=payloadBytes=3");
  expect((await world.put("low:c", { when: "every 2m", payload: "shorter" })).status).toBe(200);
  expect((await world.put("low:c", { when: "every 1m", payload: "shorter" })).status).toBe(422);
  await world.define("low:=schedules=1");
  expect((await world.put("low:c", { when: "every 1m", payload: "longer than before" })).status).toBe(200);
  expect((await world.remove("low:a")).status).toBe(204);
  expect((await world.put("low:d")).status).toBe(422);
});
