import { afterEach, beforeEach, expect, test } from "vitest";
import { type IngestWorld, ingestWorld } from "../ingest/ingest-world.ts";

let world: IngestWorld;
beforeEach(async () => {
  world = await ingestWorld();
});
afterEach(() => world.stop());

const put = (key: string) => ({
  id: key,
  body: { put: { key, when: "every 1h", target: { queue: "demo" }, payload: null } },
});

/**
 * As if callers edited the schedule all the time: its mark always differs from the one that was
 * read.
 */
const alwaysMoves = (key: string) =>
  world.carillon.sql.unsafe(`
    create function carillon.move_mark() returns trigger language plpgsql as $$
    begin update carillon.command_marks set revision = revision + 1 where key = '${key}'; return new; end $$;
    create trigger move_mark before insert on carillon.command_marks for each row when (new.key = '${key}')
      execute function carillon.move_mark()`);

test("A schedule that is edited all the time does not delay commands of another key", async () => {
  const { sql } = world.carillon;
  expect(await world.ingest([put("hot")])).toEqual([]);
  await alwaysMoves("hot");
  const others = Array.from({ length: 40 }, (_, n) => put(`k${n}`));
  const pause = { id: "pause", body: { pause: "hot" } };
  expect(await world.ingest([...others.slice(0, 20), pause, ...others.slice(20)])).toEqual(["pause"]);
  expect(await sql`select from carillon.schedules`).toHaveLength(41);
  await sql`drop trigger move_mark on carillon.command_marks`;
  expect(await world.ingest([pause])).toEqual([]);
});
