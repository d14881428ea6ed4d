import { expect, test } from "vitest";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import type { PlannedGroup } from "../../lib/stats/planned-group.ts";
import { unfoldMinutes } from "../../lib/stats/unfold-minutes.ts";
import { at } from "../support/instants.ts";

const from = at(0).getTime();

function cadenceOf(when: string): Cadence {
  const parsed = parseWhen(when, { timezone: "UTC", now: from, key: "a" });
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.cadence;
}

/** Due first at ten o'clock, for one schedule. */
const group = (id: number, when: string): PlannedGroup => ({
  due: from,
  schedules: 1,
  cadence: { id, of: cadenceOf(when), expression: when, timezone: "UTC", occurrence: from },
  everyMs: null,
  isInterval: false,
  slot: null,
  unmoved: true,
  release: null,
  names: [],
});

const firesOf = (groups: readonly PlannedGroup[], minutes: number, runsMax?: number) => {
  const unfolded = unfoldMinutes(groups, {
    from,
    count: minutes,
    ...(runsMax === undefined ? {} : { runsMax }),
  });
  return { fires: unfolded.minutes.map(({ fires }) => fires), exact: unfolded.exact };
};

test("The forecast is exact while the rules have fewer runs than its limit", () => {
  const groups = [group(1, "*/2 * * * *"), group(2, "* * * * *")];
  expect(firesOf(groups, 6, 9)).toEqual({ fires: [2, 1, 2, 1, 2, 1], exact: true });
});

test("A rule that is computed only in part continues at its rate so far in the forecast, which is then not exact", () => {
  const { fires, exact } = firesOf([group(1, "* * * * *")], 60, 20);
  expect(exact).toBe(false);
  expect(fires.slice(0, 20)).toEqual(Array(20).fill(1));
  for (const each of fires.slice(20)) expect(each).toBeCloseTo(1);
});

test("Rules share the limit of computed runs, and later rules get the runs that an earlier one did not need", () => {
  const few = Array.from({ length: 5 }, (_, id) => group(id, "0 * * * *"));
  const many = Array.from({ length: 5 }, (_, id) => group(5 + id, "* * * * *"));
  expect(firesOf([...few, ...many], 60, 5 + 5 * 60)).toMatchObject({ exact: true });
  const { fires, exact } = firesOf([...few, ...many], 60, 100);
  expect(exact).toBe(false);
  expect(fires.reduce((sum, each) => sum + each)).toBeCloseTo(5 + 5 * 60);
});

test("The fires of a rule with more of them in a minute than the limit are distributed evenly from its first run on", () => {
  const { fires, exact } = firesOf([group(1, "* * * * * *")], 2, 60);
  expect(exact).toBe(false);
  expect(fires).toEqual([60, 60]);
});
