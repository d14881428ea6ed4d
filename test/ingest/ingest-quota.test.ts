import { afterAll, beforeAll, expect, test } from "vitest";
import { parseQuotas } from "../../lib/config/quota-setting.ts";
import { defineQuotas } from "../../lib/quota/define-quotas.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;
beforeAll(async () => {
  world = await ingestWorld();
});
afterAll(() => world.stop());

test("A command of the queue beyond a quota of its prefix is set aside with the reason, and the others are applied", async () => {
  await defineQuotas(world.carillon.sql, parseQuotas(["billing:=schedules=2"]));
  for (const n of [1, 2, 3])
    expect(
      await world.command({ put: { key: `billing:${n}`, when: "every 1h", target: { queue: "demo" } } }),
    ).toEqual([]);
  expect(
    await world.command({ put: { key: "shop:1", when: "every 1h", target: { queue: "demo" } } }),
  ).toEqual([]);
  const [dead] = await world.deadLetters(1);
  expect(JSON.stringify(dead?.attributes)).toContain("would have 3 schedules");
  const keys = await world.carillon.sql`select key from carillon.schedules order by key`;
  expect(keys.map(({ key }) => key)).toEqual(["billing:1", "billing:2", "shop:1"]);
});

test("A command of the queue whose payload and target are beyond the quota of the day is set aside with the reason", async () => {
  await defineQuotas(world.carillon.sql, parseQuotas(["daily:=payloadBytesPerDay=60"]));
  for (const payload of ["10 bytes", "10 octet", "10 more."]) {
    const command = { put: { key: "daily:1", when: "every 1h", target: { queue: "demo" }, payload } };
    expect(await world.command(command)).toEqual([]);
  }
  const [dead] = await world.deadLetters(1);
  expect(JSON.stringify(dead?.attributes)).toContain(
    "would have 78 bytes of payloads and targets written today",
  );
});

test("The first command of a queue with a prefix makes the prefix one of a team", async () => {
  world.deps = { ...world.deps, prefix: "queued:" };
  const teams = () => world.carillon.sql`select prefix from carillon.teams where prefix = 'queued:'`;
  expect(await teams()).toEqual([]);
  const put = { key: "queued:1", when: "every 1h", target: { queue: "demo" } };
  expect(await world.command({ put })).toEqual([]);
  expect(await teams()).toHaveLength(1);
});
