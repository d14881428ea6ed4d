import { expect, test } from "vitest";
import { dueAroundMidnight, type Profile, profiles } from "./profile.ts";

const daily: Profile = {
  name: "daily",
  firesPerDay: 1,
  midnight: 0.2,
  fullHours: 0.3,
  fullMinutes: 0.3,
  spread: 0,
};
const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);

test("without spread all of midnight is due in one second", () => {
  const due = dueAroundMidnight(1_000_000, daily);
  // Midnight, its full hour, its full minute, and the even share of any second.
  expect(due[240]).toBeCloseTo(200_000 + 300_000 / 24 + 300_000 / 1_440 + 200_000 / 86_400, 3);
  expect(due[241]).toBeCloseTo(200_000 / 86_400, 6);
});

test("with spread the jobs are due over that time, and none is lost or added", () => {
  const due = dueAroundMidnight(1_000_000, { ...daily, spread: 600 });
  expect(due[240]).toBeCloseTo(due[839] ?? 0, 0);
  expect(due[840] ?? 0).toBeLessThan((due[839] ?? 0) / 10);
  expect(sum(due.slice(240, 840))).toBeGreaterThan(200_000 + 300_000 / 24);
});

test("minutes that are spread over themselves are a steady rate", () => {
  const minutely = profiles.at(-1);
  if (minutely === undefined) throw new Error("There is no profile.");
  const due = dueAroundMidnight(288_000, minutely);
  expect(Math.min(...due)).toBeCloseTo(4_800, 6);
  expect(Math.max(...due)).toBeCloseTo(4_800, 6);
});

test("the shares of each profile add up to one", () => {
  for (const { midnight, fullHours, fullMinutes } of profiles)
    expect(midnight + fullHours + fullMinutes).toBeLessThanOrEqual(1);
});
