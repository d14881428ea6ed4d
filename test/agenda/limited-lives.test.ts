import { afterEach, beforeEach, expect, test } from "vitest";
import { readLastRuns } from "../../lib/agenda/last-runs.ts";
import { readStrip, type StripItem } from "../../lib/agenda/strip.ts";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { Refusal } from "../../lib/refusal.ts";
import { type Dice, diceOf, seeded } from "../race/seeded.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const key = "k";
const whens = ["*/5 * * * *", "*/3 * * * *", "every 4m", "* * * * *"];

function bodyOf({ pick }: Dice, now: Date): object {
  return {
    when: pick(whens),
    catchUp: pick([{ policy: "latest" }, { policy: "all", limit: 12 }, { policy: "skip" }]),
    spread: pick(["0s", "0s", "7m"]),
    slot: pick([null, null, "5m"]),
    maxFires: pick([null, 2, 5, 12]),
    endsAt: pick([null, null, new Date(now.getTime() + 90 * minute).toISOString()]),
  };
}

/** Edits of limits and times, holds with and without an end, outages, and new schedules with the key. */
function actsOf(dice: Dice): (() => Promise<unknown>)[] {
  const { pick, chance } = dice;
  const soon = () => new Date(world.clock.now().getTime() + pick([3, 11, 40]) * minute);
  const work = () => world.tick().then(() => world.work());
  return [
    ...[work, work, work, work],
    () => world.tick(),
    () => world.pause(key, { owner: "ann" }),
    () => world.pause(key, { owner: "bob", until: soon() }),
    () => world.resume(key, "ann"),
    () => world.resume(key, "bob"),
    () => world.patch(key, { maxFires: pick([5, 20, null]) }),
    () => world.patch(key, { endsAt: null }),
    () => world.patch(key, { when: pick(whens) }),
    () => world.patch(key, { spread: pick(["0s", "4m"]) }),
    () => fireNow({ sql: world.sql, queue: world.queue }, { key, caller: { name: "ann" } }),
    () => world.clock.advance(pick([5, 20, 40]) * minute),
    async () => {
      if (!chance(0.3)) return;
      await world.remove(key);
      await world.clock.advance(20 * second);
      await world.put(key, bodyOf(dice, world.clock.now()));
    },
  ];
}

/** A put or patch whose `endsAt` is past is refused. */
function unlessItNeverRuns(error: unknown): void {
  if (!(error instanceof Refusal) || error.faults[0]?.path !== "when") throw error;
}

async function stripUntil(to: number, limit: number): Promise<{ items: StripItem[]; createdAt: number }> {
  const items: StripItem[] = [];
  let createdAt = 0;
  for (let from: number | undefined = at(0).getTime(); from !== undefined; ) {
    const page = await readStrip(world.sql, { key, window: { from, to }, limit });
    expect(page.next ?? to).toBeGreaterThan(from);
    items.push(...page.items);
    createdAt = page.createdAt.getTime();
    from = page.next;
  }
  return { items, createdAt };
}

test.each([1, 3, 5, 10, 11, 28, 34, 49, 50, 88])(
  "Strip, `next`, the last runs and the ledger agree in a random life with limits (seed %i)",
  async (seed) => {
    const dice = diceOf(seeded(seed));
    await world.put(key, bodyOf(dice, world.clock.now()));
    const acts = actsOf(dice);
    for (let step = 0; step < 40; step++) {
      await world.clock.advance(dice.pick([20 * second, minute, minute, 2 * minute + 7 * second]));
      await dice.pick(acts)().catch(unlessItNeverRuns);
      if (step % 5 !== 4) continue;
      const now = world.clock.now().getTime();
      const until = now + 3 * hour;
      const { items, createdAt } = await stripUntil(until, dice.between(3, 40));
      const own = items.filter(({ occurrence }) => occurrence);
      const coming = own.filter((item) => item.at.getTime() > now && item.outcome !== "skipped");
      const { occurrences } = await nextOccurrences(world.sql, { key, n: 200, from: now });
      const next = occurrences.map((each) => each.at).filter((each) => each < until);
      expect(coming.map((item) => item.at.getTime())).toEqual(next);
      const listed = new Set(items.map((item) => item.at.getTime()));
      const jobs = (await world.jobs(key)).map(({ occurrence }) => occurrence.getTime());
      expect(jobs.filter((each) => each > createdAt && each < until && !listed.has(each))).toEqual([]);
      const past = own.filter((item) => item.at.getTime() <= now && item.at.getTime() > createdAt);
      const { items: last } = await readLastRuns(world.sql, { keys: [key], most: 15 });
      expect(last[0]?.runs.map(({ occurrence, outcome }) => [occurrence, outcome])).toEqual(
        past.slice(-15).map((item) => [item.at, item.outcome]),
      );
    }
  },
);
