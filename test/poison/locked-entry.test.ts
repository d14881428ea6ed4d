import { afterEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { rowCases } from "./matrix.ts";
import { lockedForPatient, neighbours, rowPoisons, type Spot } from "./row-poisons.ts";
import type { Scenario } from "./row-scenario.ts";
import { scenarios } from "./row-scenarios.ts";

const worlds: Carillon[] = [];

afterEach(async () => {
  for (const world of worlds.splice(0)) await world.stop();
});

/**
 * Consumers that are not housekeeping: firing must write an entry before it goes on behind a row,
 * and workers are not part of the tick.
 */
const notHousekeeping = ["plan", "release", "catch-up", "near", "claim", "settle"];

const housekeeping = rowCases.filter(
  ([row, name, becomes]) =>
    name === "unwritable" && becomes === "is set aside" && !notHousekeeping.includes(row),
);

async function arranged({ arrange }: Scenario): Promise<Carillon> {
  const world = await carillon();
  worlds.push(world);
  await arrange(world);
  return world;
}

const actOf = ({ act = (world: Carillon) => world.tick() }: Scenario) => act;

/** The entry that the bad row gets, found in an equal world. */
async function entryOf(scenario: Scenario): Promise<object> {
  const world = await arranged(scenario);
  await rowPoisons.unwritable.during(world, await scenario.spot(world), () => actOf(scenario)(world));
  const [entry] =
    await world.sql`select consumer, item, schedule_id, reason, detail::text as detail from carillon.quarantine`;
  if (entry === undefined) throw new Error("Nothing was set aside.");
  return entry;
}

/** Ids of parcels and backlog rows may differ in the second world. */
const itemIn = ({ sql }: Carillon) => sql`
  case when e.consumer = 'backlog' then (select b.id::text from carillon.backlog b where b.schedule_id = e.schedule_id)
    when e.consumer in ('lease', 'offer') then ${parcelOf(sql)}
    when e.consumer = 'turn' then 'parcel ' || ${parcelOf(sql)}
    else e.item end`;

const parcelOf = (sql: Carillon["sql"]) =>
  sql`(select p.id::text from carillon.parcels p where p.schedule_ids = array[e.schedule_id])`;

test.each(housekeeping)(
  "A row of the consumer %s that fails again while its entry is locked does not stop the others in the same tick",
  async (row) => {
    const scenario: Scenario = scenarios[row];
    const entry = await entryOf(scenario);
    const world = await arranged(scenario);
    await world.sql`
      insert into carillon.quarantine (consumer, item, schedule_id, reason, detail, first_at, last_at, tries, next_at)
      select e.consumer, ${itemIn(world)}, e.schedule_id, e.reason, e.detail::jsonb, carillon.clock(), carillon.clock(), 1, carillon.clock()
      from jsonb_to_record(${JSON.stringify(entry)}::text::jsonb) e (consumer text, item text, schedule_id bigint, reason text, detail text)`;
    const locked: Spot = { table: "quarantine", condition: () => "true" };
    await rowPoisons.unwritable.during(world, await scenario.spot(world), () =>
      lockedForPatient(world, locked, () => actOf(scenario)(world)),
    );
    expect(await scenario.done(world)).toEqual(neighbours);
    expect(await world.sql`select tries from carillon.quarantine`).toEqual([{ tries: 1 }]);
    expect(world.log.lines.map(({ event }) => event)).toContain("quarantine.entry-locked");
  },
);
