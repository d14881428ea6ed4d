import { afterAll, beforeAll, expect, test } from "vitest";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
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
