import { afterEach, beforeEach, expect, test } from "vitest";
import { countBySchedule } from "../../lib/agenda/by-schedule.ts";
import type { AgendaOutcome } from "../../lib/agenda/outcomes.ts";
import type { AgendaFilter } from "../../lib/agenda/window.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";
import { live } from "../support/passing-time.ts";
import { agendaPages } from "./pages.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const counted = ([from, to]: readonly [Date, Date], outcome: AgendaOutcome, filter: AgendaFilter = {}) =>
  countBySchedule(world.sql, { window: { from: from.getTime(), to: to.getTime() }, filter, outcome });

test("The held occurrences of a window are counted exactly, each schedule with the holds of its first one", async () => {
  await world.put("a", { when: "*/5 * * * *" });
  await world.put("b", { when: "*/10 * * * *" });
  await world.put("free", { when: "* * * * *" });
  await world.put("late", { when: "*/5 * * * *", startsAt: at(3 * hour).toISOString() });
  await world.pause("a", { reason: "a move" });
  await world.pause("b", { owner: "night", until: at(2 * hour + 30 * minute) });
  await world.pause("late");
  const window = [at(2 * hour), at(3 * hour)] as const;
  const held = await counted(window, "held");
  expect(held).toEqual({
    asOf: at(0),
    // Those of `b` after the end of its hold, and those of `late` before its first one, are none of them.
    occurrences: 12 + 4,
    schedules: 2,
    more: false,
    items: [
      {
        key: "a",
        scheduleId: expect.any(String),
        occurrences: 12,
        first: at(2 * hour),
        last: at(2 * hour + 55 * minute),
        heldBy: [{ owner: "ann", reason: "a move", since: at(0), until: null }],
      },
      {
        key: "b",
        scheduleId: expect.any(String),
        occurrences: 4,
        first: at(2 * hour),
        last: at(2 * hour + 30 * minute),
        heldBy: [{ owner: "night", reason: null, since: at(0), until: at(2 * hour + 30 * minute) }],
      },
    ],
  });
  const rows = await agendaPages(world.sql, {}, window, 7, "held");
  expect(rows).toHaveLength(held.occurrences);
  expect(await counted(window, "held", { prefix: "b" })).toMatchObject({ occurrences: 4, schedules: 1 });
  expect(await counted(window, "dead")).toMatchObject({
    occurrences: 0,
    schedules: 0,
    more: false,
    items: [],
  });
});

test("A range of missed occurrences counts with its number, from its first one on", async () => {
  await world.put("often", { when: "* * * * *", catchUp: { policy: "skip" } });
  await live(world, at(2 * minute));
  await world.clock.setNow(at(2 * hour));
  await world.tick();
  const rows = await agendaPages(world.sql, {}, [at(0), at(3 * hour)], 50, "skipped");
  const [range] = rows.flatMap(({ passedOver }) => passedOver ?? []);
  if (range === undefined || range.count === null) throw new Error("No range was passed over.");
  const alone = rows.filter(({ passedOver }) => passedOver === null).length;
  const { items, ...sums } = await counted([at(0), at(3 * hour)], "skipped");
  expect(range.count).toBeGreaterThan(100);
  expect(sums).toMatchObject({ occurrences: range.count + alone, schedules: 1, more: false });
  expect(items).toMatchObject([{ key: "often", occurrences: range.count + alone }]);
});

test("After 4,000 occurrences counting stops and says so", async () => {
  await world.put("quick", { when: "every 1s", startsAt: at(day).toISOString() });
  await world.pause("quick");
  const window = [at(day), at(day + 4_001 * 1_000)] as const;
  expect(await counted(window, "held")).toMatchObject({ occurrences: 4_000, schedules: 1, more: true });
  const whole = [at(day), at(day + 3_900 * 1_000)] as const;
  expect(await counted(whole, "held")).toMatchObject({ occurrences: 3_900, schedules: 1, more: false });
});
