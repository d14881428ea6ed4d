import { expect, test } from "vitest";
import { agendaOutcomes } from "../../lib/agenda/outcomes.ts";
import { readStrip } from "../../lib/agenda/strip.ts";
import type { AgendaRow } from "../../lib/agenda/window.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { Refusal } from "../../lib/refusal.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Dice, diceOf, seeded } from "../race/seeded.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { agendaPages } from "./pages.ts";

const keys = ["a", "b", "c", "d"];
const half = { share: { share: 0, of: 2 } };

/** A schedule of any kind, as far as the agenda and the strip answer alike. */
function bodyOf({ pick }: Dice): object {
  return {
    when: pick([
      "*/5 * * * *",
      "* * * * *",
      "every 90s",
      "every 7m",
      ["*/7 * * * *", "*/10 * * * *"],
      "0 11 * * *",
    ]),
    catchUp: pick([{ policy: "latest" }, { policy: "skip" }, { policy: "all", limit: 30 }]),
    ...pick([{}, {}, { spread: "4m" }, { slot: "10m" }]),
    ...pick([{}, {}, { startsAt: at("10:20:00").toISOString() }, { endsAt: at("11:40:00").toISOString() }]),
  };
}

/** Edits, holds, deletions and ticks of which some stop, or reach half of the shards. */
async function live(world: Carillon, dice: Dice, steps: number): Promise<void> {
  const { pick } = dice;
  const soon = () => new Date(world.clock.now().getTime() + pick([3, 11, 40]) * minute);
  const ticked = async (settings = {}) => {
    await world.tick({ backlogBudget: pick([0, 5, 500]), ...settings });
    await world.work();
  };
  const acts: (() => Promise<unknown>)[] = [
    () => ticked(),
    () => ticked(),
    () => ticked(half),
    () => ticked(half),
    () => world.tick(half),
    () => world.put(pick(keys), bodyOf(dice)),
    () => world.put(pick(keys), bodyOf(dice)),
    () => world.patch(pick(keys), { payload: { n: dice.between(1, 100) } }),
    () => world.pause(pick(keys)),
    () => world.pause(pick(keys), { until: soon() }),
    () => world.resume(pick(keys)),
    () => world.remove(pick(keys)),
    () => world.clock.advance(pick([5, 20]) * minute),
  ];
  for (let step = 0; step < steps; step++) {
    await world.clock.advance(pick([0, 20_000, minute, minute, 127_000]));
    await pick(acts)().catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }
}

interface Line {
  at: number;
  outcome: string;
}

async function stripOf(world: Carillon, key: string, [from, to]: readonly [Date, Date]): Promise<Line[]> {
  const items: Line[] = [];
  for (let next: number | undefined = from.getTime(); next !== undefined; ) {
    const window = { from: next, to: to.getTime() };
    const strip = await readStrip(world.sql, { key, window, limit: 100 });
    items.push(...strip.items.map((item) => ({ at: item.at.getTime(), outcome: item.outcome })));
    next = strip.next;
  }
  return items;
}

const nameOf = ({ occurrence, key, kind, outcome, job, passedOver }: AgendaRow) =>
  `${occurrence.getTime()} ${key} ${kind} ${outcome} ${job?.id ?? ""} ${passedOver?.from.getTime() ?? ""}`;

/** The differences between the rows of one schedule and its strip. */
function differences(rows: readonly AgendaRow[], strip: readonly Line[]): string[] {
  const single = rows.filter(({ passedOver }) => passedOver === null);
  const ranges = rows.filter(({ passedOver }) => passedOver !== null);
  const listed = new Map(single.map((row) => [row.occurrence.getTime(), row.outcome as string]));
  const faults: string[] = [];
  if (listed.size < single.length) faults.push("An occurrence is listed twice.");
  for (const { at: instant, outcome } of strip) {
    const range = ranges.find(
      ({ passedOver, outcome: each }) =>
        passedOver !== null &&
        passedOver.from.getTime() <= instant &&
        instant <= passedOver.to.getTime() &&
        each === outcome,
    );
    const own = listed.get(instant);
    listed.delete(instant);
    const text = new Date(instant).toISOString();
    if (own !== undefined && own !== outcome)
      faults.push(`${text}: ${own} in the agenda, ${outcome} in the strip`);
    if (own === undefined && range === undefined) faults.push(`${text}: ${outcome} in the strip alone`);
    if (own !== undefined && range !== undefined) faults.push(`${text}: ${own} in a range too`);
  }
  for (const [instant, outcome] of listed)
    faults.push(`${new Date(instant).toISOString()}: ${outcome} in the agenda alone`);
  for (const { passedOver } of ranges) {
    const [first, last] = [passedOver?.from.getTime() ?? 0, passedOver?.to.getTime() ?? 0];
    if (!strip.some((each) => first <= each.at && each.at <= last))
      faults.push("A range has no occurrence in the window.");
  }
  return faults;
}

/**
 * A deletion leaves no row of the ledger for occurrences that were held or not due yet: the strip alone
 * tells of them.
 */
const isUnrecorded = (fault: string) => / (skipped|deleted) in the strip alone$/.test(fault);

async function faultsOf(
  world: Carillon,
  key: string,
  whole: readonly AgendaRow[],
  window: readonly [Date, Date],
): Promise<string[]> {
  const [subject] = await world.sql<{ id: string; isDeleted: boolean }[]>`
    select id, deleted_at is not null as "isDeleted" from carillon.schedules where key = ${key} order by id desc limit 1`;
  if (subject === undefined) return [];
  const rows = whole.filter((row) => row.scheduleId === subject.id && row.kind === "cadence");
  const found = differences(rows, await stripOf(world, key, window));
  return found
    .filter((fault) => !subject.isDeleted || !isUnrecorded(fault))
    .map((fault) => `${key} ${fault}`);
}

test.each([1, 2])(
  "An agenda has the occurrences of each strip, on pages of any size (seed %i)",
  async (seed) => {
    const world = await carillon();
    const dice = diceOf(seeded(seed));
    await world.tick();
    for (const key of keys) await world.put(key, bodyOf(dice));
    await live(world, dice, 25);
    const window = [at(0), new Date(world.clock.now().getTime() + 10 * minute)] as const;
    const whole = await agendaPages(world.sql, {}, window, 500);
    const parts = await agendaPages(world.sql, {}, window, 7);
    expect(parts.map(nameOf).sort()).toEqual(whole.map(nameOf).sort());
    for (const rows of [whole, parts]) {
      const instants = rows.map(({ occurrence }) => occurrence.getTime());
      expect(instants).toEqual(instants.toSorted((one, other) => one - other));
    }
    const faults: string[] = [];
    for (const key of keys) faults.push(...(await faultsOf(world, key, whole, window)));
    await world.stop();
    expect(faults).toEqual([]);
  },
  120_000,
);

test.each([3, 4, 5])(
  "The rows of one outcome are those of the whole agenda that have it (seed %i)",
  async (seed) => {
    const world = await carillon();
    const dice = diceOf(seeded(seed));
    world.outcome = async () => (dice.chance(0.3) ? failed("Error: refused") : done);
    await world.tick();
    for (const key of keys)
      await world.put(key, { ...bodyOf(dice), retry: { attempts: dice.pick([1, 3]), base: "20m" } });
    await live(world, dice, 25);
    await world.put("c", { when: "* * * * *" });
    await world.pause("c");
    await fireNow(world, { key: "b", caller: { name: "ann" } }).catch(() => {});
    const window = [at(0), new Date(world.clock.now().getTime() + 10 * minute)] as const;
    const met = new Set<string>();
    for (const filter of [{}, { prefix: "b" }]) {
      const whole = await agendaPages(world.sql, filter, window, 500);
      for (const outcome of agendaOutcomes)
        for (const limit of [2, 500]) {
          const rows = await agendaPages(world.sql, filter, window, limit, outcome);
          const meant = whole.filter((row) => row.outcome === outcome);
          expect([outcome, rows.map(nameOf).sort()]).toEqual([outcome, meant.map(nameOf).sort()]);
          if (rows.length > 0) met.add(outcome);
        }
    }
    await world.stop();
    expect([...met]).toEqual(expect.arrayContaining(["ran", "held", "planned"]));
  },
  120_000,
);
