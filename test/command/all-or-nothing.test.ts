import { afterEach, beforeEach, expect, test } from "vitest";
import { applyCommands, readCommands } from "../../lib/command/apply-commands.ts";
import { acceptance } from "../inbox/inbox-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("an all-or-nothing batch with an unreadable command changes nothing", async () => {
  // Otherwise the answer says that nothing was done, while half of the batch runs.
  const caller = { name: "ann" };
  const body = { when: "every 1h", target: { queue: "demo" } };
  const commands = [
    { input: { put: { key: "good", ...body } }, caller },
    { input: { put: { key: "odd", ...body, colour: "blue" } }, caller },
  ];
  const read = readCommands(commands, acceptance);
  const results = await applyCommands({ sql: world.sql, queue: world.queue }, read, { allOrNothing: true });
  expect(results.map(({ change }) => change)).toEqual(["refused", "refused"]);
  expect(await world.sql`select from carillon.schedules`).toEqual([]);
});
