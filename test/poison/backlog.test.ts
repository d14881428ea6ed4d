import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { mend, poison, quarantined, raised } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const keys = ["a", "b", "c", "d", "e"];

const owing = async () =>
  (
    await world.sql<{ key: string }[]>`
      select distinct s.key from carillon.backlog b join carillon.schedules s on s.id = b.schedule_id order by s.key`
  ).map(({ key }) => key);

test.each(["a", "c"])(
  "A backlog row (%s) that cannot be admitted is set aside, does not stop the others, and is admitted once repaired",
  async (bad) => {
    for (const key of keys) await world.put(key, { when: "every 1m", catchUp: { policy: "all" } });
    await world.tick();
    const [row] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${bad}`;
    await poison(world.sql, "backlog", `old.schedule_id = ${row?.id}`);
    await world.clock.advance(30 * minute);
    await world.tick();
    expect(await owing()).toEqual([bad]);
    expect(await quarantined(world)).toMatchObject([{ consumer: "backlog", reason: raised, tries: 1 }]);

    await mend(world.sql, "backlog");
    await world.clock.advance(minute);
    await world.tick();
    expect(await owing()).toEqual([]);
    expect(await quarantined(world)).toEqual([]);
  },
);
