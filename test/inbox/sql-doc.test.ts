import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type InboxWorld, inboxWorld } from "./inbox-world.ts";

const page = readFileSync(path.join(import.meta.dirname, "../../docs/sql.md"), "utf8");
const blocks = [...page.matchAll(/^```sql\n(.*?)^```/gms)].map(([, block = ""]) => block);

let world: InboxWorld;
let shop: Sql;
beforeAll(async () => {
  world = await inboxWorld();
  const url = new URL(world.databaseUrl);
  url.username = world.caller.role;
  url.password = "test";
  shop = connect({ DATABASE_URL: url.href });
  await world.sql.unsafe(`
    create table public.shop_orders (id bigint, customer text, shipped_at timestamptz);
    insert into public.shop_orders values (1235, 'Bob');
    revoke carillon_caller from ${world.caller.role};
    grant select, insert, update on public.shop_orders to ${world.caller.role}`);
});
afterAll(async () => {
  await shop.end();
  await world.stop();
});

test("every block of docs/sql.md does what the page says", async () => {
  expect(blocks.length).toBeGreaterThan(7);
  await expect(shop.unsafe(blocks[0] ?? "")).rejects.toMatchObject({ code: "42501" });
  await shop.unsafe("rollback");
  // The page describes calls before rights: here the rights come first.
  const [grants, calls] = [blocks.filter(isOwners), blocks.filter((block) => !isOwners(block))];
  for (const block of grants) await world.sql.unsafe(block.replaceAll("shop", world.caller.role));
  await expect(shop.unsafe("select carillon.delete_schedule('invoice:1')")).rejects.toMatchObject({
    code: "42501",
  });
  for (const block of calls) {
    await shop.unsafe(block);
    await world.tick();
  }
  const keys = await world.sql<{ key: string; gone: boolean }[]>`
    select key, deleted_at is not null as gone from carillon.schedules where key not like '%job:%' order by id`;
  expect(keys).toEqual([
    { key: "order:1234:unshipped", gone: true },
    { key: "order:1235:unshipped", gone: false },
  ]);
  const jobs = await world.sql`select key from carillon.schedules where key like 'order:job:%'`;
  expect(jobs).toHaveLength(1);
  expect(await shop`select key from carillon.inbox_errors order by id`).toEqual(
    // The page edits order 1235 before it puts the schedules of all unshipped orders.
    Array.from({ length: 3 }, () => ({ key: "order:1235:unshipped" })),
  );
});

function isOwners(block: string): boolean {
  return block.startsWith("-- as the owner\n");
}
