import { afterAll, beforeAll, expect, test } from "vitest";
import { lockMany } from "../../lib/batch/lock-many.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

let world: Carillon;
beforeAll(async () => {
  world = await carillon();
  await world.sql`select carillon.note_grouped(array['handler/digest'], array[true])`;
});
afterAll(() => world.stop());

const body = { when: "every 1h", target: { handler: "digest" }, group: "person:1" };

const put = (key: string, group = body.group): Operation => ({
  kind: "put",
  key,
  caller: { name: "ann" },
  body: parseScheduleBody({ ...body, group }),
});

/** The lanes, of these, that the locks of the operations include. */
const lockedAmong = (operations: readonly Operation[], lanes: readonly string[]) =>
  world.sql.begin(async (tx) => {
    await lockMany(tx, operations, { labels: [], teams: new Set(), labelsMost: 500 });
    const rows = await tx<{ lane: string }[]>`
      select lane from unnest(${[...lanes]}::text[]) lane
      join pg_locks l on l.locktype = 'advisory' and l.pid = pg_backend_pid() and l.classid = 4
        and l.objid::bigint = ((-1 - (hashtext(lane) & 1023))::bigint & 4294967295)
      order by lane collate "C"`;
    return rows.map(({ lane }) => lane);
  });

test("A batch locks the lanes of its schedules' teams at a grouped handler: that of a new one, and both while ticks have not assigned it", async () => {
  await world.put("shop:old", body);
  await world.sql`select carillon.keep_team('shop:')`;
  const [team] = await world.sql<{ id: number }[]>`select id from carillon.teams where prefix = 'shop:'`;
  const [none, own] = ["grouped/digest/person:1", `grouped/digest@${team?.id}/person:1`];
  const both = [none, own].sort();
  expect(await lockedAmong([put("shop:new")], both)).toEqual([own]);
  expect(await lockedAmong([put("other")], both)).toEqual([none]);
  const next = both.map((lane) => lane.replace("person:1", "person:2")).sort();
  expect(await lockedAmong([put("shop:old", "person:2")], next)).toEqual(next);
});
