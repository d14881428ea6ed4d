import { afterAll, beforeAll, expect, test } from "vitest";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { oddHandlers, oddNames, secret } from "../command/odd-schemas.ts";
import { second } from "../support/instants.ts";
import { type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeAll(async () => {
  world = await inboxWorld();
  const targets = allowedTargetsFrom({ AWS_REGION: "local" });
  world.more.tick = { acceptance: acceptanceOf({ handlers: oddHandlers, targets }) };
});
afterAll(() => world.stop());

test("a tick refuses each command whose payload's schema fails, and applies and fires the others", async () => {
  await world.tick();
  for (const name of ["plain", ...oddNames])
    await world.caller.sql`
      select carillon.put_schedule(${JSON.stringify({ key: name, when: "in 1s", target: { handler: name }, payload: { n: 1 } })}::text::jsonb)`;
  await world.clock.advance(second);
  await world.tick();
  await new Promise((resolve) => setImmediate(resolve));
  expect(await world.jobs("plain")).toHaveLength(1);
  expect(await world.waiting()).toBe(0);
  expect((await world.refused()).map(({ key, problem }) => [key, problem])).toEqual(
    oddNames.map((name) => [name, `The payload is not what the handler ${name} takes.`]),
  );
  expect(JSON.stringify(world.log.lines)).not.toContain(secret);
});

test("a tick refuses each patch whose payload's schema fails, in the transaction that applies the others", async () => {
  const patched = ["plain", ...oddNames].map((name) => [`patched-${name}`, name] as const);
  for (const [key] of patched) await world.put(key, { when: "every 1h", target: { handler: "plain" } });
  const before = (await world.refused()).length;
  for (const [key, handler] of patched)
    await world.caller.sql`
      select carillon.patch_schedule(${JSON.stringify({ key, target: { handler }, payload: { n: 2 } })}::text::jsonb)`;
  await world.tick();
  await new Promise((resolve) => setImmediate(resolve));
  expect(await readSchedule(world.sql, "patched-plain")).toMatchObject({ body: { payload: { n: 2 } } });
  expect(await world.waiting()).toBe(0);
  expect((await world.refused()).slice(before).map(({ key }) => key)).toEqual(
    oddNames.map((name) => `patched-${name}`),
  );
  expect(JSON.stringify(world.log.lines)).not.toContain(secret);
});
