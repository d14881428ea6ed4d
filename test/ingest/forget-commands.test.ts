import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { silentLog } from "../../lib/log/log.ts";
import { forgetCommands } from "../../lib/tick/housekeeping/forget-commands.ts";
import { day } from "../support/instants.ts";
import { connectAsMember } from "../support/role-logins.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;
let ticking: Sql;
beforeAll(async () => {
  world = await ingestWorld();
  ticking = await connectAsMember(world.carillon.sql, world.carillon.databaseUrl, "carillon_tick");
});
afterAll(async () => {
  await ticking.end();
  await world.stop();
});

test("the tick forgets marks once no older command can come, and dead commands after the retention", async () => {
  const left = async () => {
    await forgetCommands({ sql: ticking, log: silentLog }, 30, () => false);
    const [row] = await world.carillon.sql`
      select (select count(*) from carillon.command_marks)::int as marks, (select count(*) from carillon.dead_commands)::int as dead`;
    return row;
  };
  await world.ingest([{ body: { delete: "a" } }, { body: { pause: "b" }, sentAt: new Date(0) }]);
  expect(await left()).toEqual({ marks: 1, dead: 1 });
  await world.carillon.clock.advance(15 * day);
  expect(await left()).toEqual({ marks: 1, dead: 1 });
  await world.carillon.clock.advance(day);
  expect(await left()).toEqual({ marks: 0, dead: 1 });
  await world.carillon.clock.advance(15 * day);
  expect(await left()).toEqual({ marks: 0, dead: 0 });
});
