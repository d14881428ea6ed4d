import { afterEach, beforeEach, expect, test } from "vitest";
import { dueOnce } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { mend, poison, quarantined, raised } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const later = { when: "in 300d" };

const unnamed = async () =>
  (
    await world.sql<{ key: string }[]>`
      select key from carillon.schedules where target_id is null order by key`
  ).map(({ key }) => key);

/** The rows of all schedules name no target any more. */
const forgetTargets = () => world.sql`update carillon.schedules set target_id = null`;

test("A schedule whose target cannot be set is set aside, does not stop the others, and gets its target once repaired", async () => {
  for (const key of ["a", "b", "c"]) await world.put(key, later);
  await forgetTargets();
  await poison(world.sql, "schedules", "old.key = 'a'");
  await world.tick();
  expect(await unnamed()).toEqual(["a"]);
  expect(await quarantined(world)).toMatchObject([{ consumer: "target", reason: raised, tries: 1 }]);

  await mend(world.sql, "schedules");
  await world.tick();
  expect(await unnamed()).toEqual(["a"]);
  await world.clock.advance(minute);
  await world.tick();
  expect(await unnamed()).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});

test.each([
  ["longer than an index takes", "https://sqs.eu-central-1.amazonaws.com/1/"],
  ["missing", null],
])(
  "A schedule whose target's name is %s does not stop others from getting their targets",
  async (_, queue) => {
    for (const key of ["a", "b"]) await world.put(key, later);
    await forgetTargets();
    // Random text, which Postgres cannot compress.
    await world.sql`
    update carillon.schedule_versions set target = jsonb_build_object('queue', ${queue}::text || (
      select string_agg(sha512(i::text::bytea)::text, '') from generate_series(1, 60) i))
    where schedule_id = (select id from carillon.schedules where key = 'a')`;
    await world.tick();
    expect(await unnamed()).toEqual(["a"]);
    expect(await quarantined(world)).toMatchObject([{ consumer: "target", tries: 1 }]);
  },
);

test("More than a page of schedules under edit do not stop later ones from getting their targets", async () => {
  await dueOnce(world, "a", 2_010, later);
  await world.put("b", later);
  await forgetTargets();
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.schedules where key <> 'b' for update`;
    await world.tick();
    expect((await unnamed()).filter((key) => key === "b")).toEqual([]);
  });
  await world.tick();
  expect(await unnamed()).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});
