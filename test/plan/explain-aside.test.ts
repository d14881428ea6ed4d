import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../lib/plan/explain.ts";
import { letGo, setAside } from "../../lib/quarantine/quarantine.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

test("What is set aside of a schedule is told of it alone, with the rights of the API, and no more once it is let go", async () => {
  for (const key of ["bad", "good"]) await world.put(key, { when: "every 1d" });
  const [bad] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = 'bad'`;
  const scheduleId = bad?.id ?? "";
  await setAside(world.as.tick, "follower", [{ item: scheduleId, scheduleId, error: new Error("no") }]);
  const told = (key: string) => explain(world.as.api, { key, at: at(day) });
  const entry = {
    consumer: "follower",
    reason: "Error: no",
    firstAt: at(0),
    tries: 1,
    nextAt: at(minute),
  };
  expect((await told("bad")).setAside).toEqual([entry]);
  expect((await told("bad")).sentence).toContain("because `follower` failed on it once (Error: no)");
  expect(await told("good")).not.toHaveProperty("setAside");
  await letGo(world.as.tick, "follower", [scheduleId]);
  expect(await told("bad")).not.toHaveProperty("setAside");
});
