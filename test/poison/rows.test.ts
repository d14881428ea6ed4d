import { afterEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { rowCases } from "./matrix.ts";
import { bad, keys, neighbours, rowPoisons, secret } from "./row-poisons.ts";
import type { Scenario } from "./row-scenario.ts";
import { scenarios } from "./row-scenarios.ts";

let world: Carillon;

afterEach(() => world.stop());

/** The entries in quarantine, each with the key of its schedule where it has one. */
const aside = () => world.sql<{ consumer: string; item: string; key: string | null; reason: string }[]>`
  select q.consumer, q.item, s.key, q.reason from carillon.quarantine q left join carillon.schedules s on s.id = q.schedule_id`;

const setAsideLines = () =>
  world.log.lines
    .filter(({ event }) => event === "quarantine.set-aside")
    .map(({ fields }) => [fields["consumer"], fields["item"]]);

/** A mended row is tried again by itself: after a minute, and at some consumers in two steps. */
async function mended({ goOn, act, done }: Scenario): Promise<void> {
  for (let tries = 0; tries < 4; tries++) {
    await world.clock.advance(minute);
    await (goOn ?? act ?? ((each: Carillon) => each.tick()))(world);
    if ((await done(world)).length === keys.length && (await aside()).length === 0) return;
  }
}

test.each(rowCases)(
  "The consumer %s does the rows beside a bad one (%s) in the same tick; that row %s, and is done once repaired",
  async (row, name, becomes) => {
    const scenario: Scenario = scenarios[row];
    const { consumer, act = (each: Carillon) => each.tick(), done } = scenario;
    world = await carillon();
    await scenario.arrange(world);
    expect(await done(world)).toEqual([]);
    await rowPoisons[name].during(world, await scenario.spot(world), () => act(world));
    expect(await done(world)).toEqual(becomes === "is done" ? keys : neighbours);

    const entries = await aside();
    if (becomes === "is set aside") {
      expect(entries).toMatchObject([{ consumer, reason: expect.stringContaining(rowPoisons[name].reason) }]);
      expect(setAsideLines()).toEqual([[consumer, entries[0]?.item]]);
    }
    expect(entries.filter(({ key }) => key !== null && key !== bad)).toEqual([]);
    expect(JSON.stringify([world.log.lines, entries])).not.toContain(secret);

    await mended(scenario);
    expect(await done(world)).toEqual(keys);
    expect(await aside()).toEqual([]);
  },
);
