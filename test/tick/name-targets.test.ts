import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

test("A schedule from before targets had rows gets its target with the next tick, whatever its kind", async () => {
  await world.put("queue", { when: "every 5m", target: { queue: "demo" } });
  await world.put("bus", { when: "every 5m", target: { event: {} } });
  await world.put("handler", { when: "every 5m", target: { handler: "greet" } });
  await world.put("deleted", { when: "every 5m", target: { queue: "other" } });
  await world.remove("deleted");
  await world.sql`update carillon.schedules set target_id = null`;
  await world.sql`delete from carillon.targets`;
  await world.tick();
  expect(
    await world.sql`
      select s.key, t.name from carillon.schedules s join carillon.targets t on t.id = s.target_id order by s.key`,
  ).toEqual([
    { key: "bus", name: "event/default" },
    { key: "deleted", name: "queue/other" },
    { key: "handler", name: "handler/greet" },
    { key: "queue", name: "queue/demo" },
  ]);
});
