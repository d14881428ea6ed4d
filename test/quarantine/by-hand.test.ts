import { afterEach, beforeEach, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { forgetGone, waitingCommands } from "../../lib/inbox/inbox-rows.ts";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { quarantined } from "../poison/poison.ts";
import { idOf } from "../poison/row-scenario.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** An entry that was written by hand, and whose next retry is due. */
const write = (consumer: string, item: string, scheduleId: string | null = null) => world.sql`
  insert into carillon.quarantine (consumer, item, schedule_id, reason, first_at, last_at, tries, next_at)
  values (${consumer}, ${item}, ${scheduleId}, 'by hand', carillon.clock(), carillon.clock(), 1, carillon.clock())`;

test("The tick drops a quarantined plan entry whose item is not a number, reports it, and retries the other entries", async () => {
  for (const key of ["a", "b"]) await world.put(key, { when: "every 1h" });
  const [a, b] = [await idOf(world, "a"), await idOf(world, "b")];
  await write("plan", "abc", a);
  await write("plan", b, b);
  await world.tick();
  expect(await quarantined(world)).toEqual([]);
  const dropped = world.log.lines.filter(({ event }) => event === "quarantine.dropped");
  expect(dropped.map(({ fields }) => fields)).toEqual([{ consumer: "plan", item: "abc" }]);
});

test("A quarantined plan entry without a schedule id is retried by its item", async () => {
  await world.put("a", { when: "every 1h" });
  const id = await idOf(world, "a");
  await write("plan", id);
  // The delete of the entry fails, so the schedule is retried and the entry is postponed.
  await world.sql.unsafe(`
    create function public.refused() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create trigger refused before delete on carillon.quarantine for each row execute function public.refused()`);
  await world.tick();
  expect(await quarantined(world)).toMatchObject([{ consumer: "plan", item: id, tries: 2 }]);
});

test("A quarantined inbox entry whose item is not a number hides no command, and is dropped", async () => {
  await world.sql`
    insert into carillon.inbox (at, caller, reach, key, command, bytes)
    values (carillon.clock(), 'shop', '', 'a', '{"delete": "a"}', 10)`;
  await write("inbox", "abc");
  const { lists } = await waitingCommands(world.sql, { most: 10, together: 10 });
  expect(lists).toMatchObject([{ ids: ["1"], tried: false }]);
  await forgetGone(world.sql);
  expect(await quarantined(world)).toEqual([]);
});

test("A quarantined shared-hold entry whose item is not a revision is dropped", async () => {
  await write("shared-hold", "abc/1");
  const params = { label: { scope: "group", name: "shop" } as const, caller: { name: "ann" } };
  await pauseLabel(world, params, { most: 0, timeIsUp: () => false });
  await world.tick();
  expect(await quarantined(world)).toEqual([]);
});

test.each([
  [2_147_483_647, 64],
  [-2_147_483_648, 1],
])("A row whose tries were set to %i by hand is set aside again for %i minutes", async (tries, minutes) => {
  await setAside(world.sql, "ended", [{ item: "7", error: new Error("no") }]);
  await world.sql`update carillon.quarantine set tries = ${tries}`;
  const [row] = await setAside(world.sql, "ended", [{ item: "7", error: new Error("no") }]);
  expect(row?.nextAt.getTime()).toBe(world.clock.now().getTime() + minutes * minute);
  expect(row?.tries).toBeGreaterThan(0);
});
