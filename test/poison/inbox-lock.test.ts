import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { acceptance, type InboxWorld, inboxWorld } from "../inbox/inbox-world.ts";
import { minute } from "../support/instants.ts";
import { impatientTick, quarantined } from "./poison.ts";

let world: InboxWorld;
/** Another transaction, which stays open. */
let other: Sql;

beforeEach(async () => {
  world = await inboxWorld();
  await impatientTick(world);
  world.more.tick = { acceptance };
  other = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  for (const key of ["a", "b"]) await put(key);
  await other`begin`;
});

const put = (key: string) =>
  world.caller
    .sql`select carillon.put_schedule(${JSON.stringify({ key, when: "every 1h", target: { queue: "demo" } })}::text::jsonb)`;

afterEach(async () => {
  await other.end();
  await world.as.tick.end();
  await world.stop();
});

test("A lock of the inbox that is not granted sets no command aside, and the next tick applies them", async () => {
  await other`select pg_advisory_xact_lock(7, 0)`;
  await expect(world.tick()).rejects.toThrow("55P03");
  expect(await quarantined(world)).toEqual([]);
  expect(await world.waiting()).toBe(2);

  await other`rollback`;
  await world.clock.advance(minute);
  await world.tick();
  expect(await world.waiting()).toBe(0);
});

test("A locked entry of a command that is gone stops no command of the inbox", async () => {
  await world.sql`
    insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at)
    values ('inbox', '999', 'test', carillon.clock(), carillon.clock(), 1, carillon.clock() + interval '1 hour')`;
  await other`select from carillon.quarantine for update`;
  await world.tick();
  expect(await world.waiting()).toBe(0);
  expect(await quarantined(world)).toMatchObject([{ item: "999", tries: 1 }]);

  await other`rollback`;
  await put("c");
  await world.tick();
  expect(await quarantined(world)).toEqual([]);
});
