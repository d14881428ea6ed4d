import { testCarillon } from "carillon-dev/testing";
import { expect, test } from "vitest";
import { handlers } from "./handlers.ts";
import { schedules } from "./schedules.ts";

/** The project's handlers and schedules, on a clock that only the test moves. */
async function projectAt(now: string) {
  const carillon = await testCarillon({ now, handlers });
  for (const { key, ...body } of schedules) await carillon.put(key, body);
  return carillon;
}

test("the nightly report runs once in each of thirty nights, also in the night of the clock change", async () => {
  await using carillon = await projectAt("2027-03-15T12:00:00Z");
  await carillon.advance("30d");

  const nights = carillon.jobs("report:nightly");
  expect(nights.map(({ state }) => state)).toEqual(Array(30).fill("succeeded"));
  expect(nights.slice(11, 14).map(({ startedAt }) => startedAt)).toEqual([
    "2027-03-27T01:30:00.000Z",
    "2027-03-28T01:00:00.000Z", // 02:30 does not exist in this night: the report runs at 03:00.
    "2027-03-29T00:30:00.000Z",
  ]);
});

test("a report that fails is tried again until it succeeds", async () => {
  await using carillon = await projectAt("2027-03-15T12:00:00Z");
  carillon.failNext("report:nightly", { error: "Error: the mail server is down", times: 2 });
  await carillon.advance("1d");

  expect(carillon.runs("report:nightly").map(({ outcome }) => outcome)).toEqual([
    "failed",
    "failed",
    "succeeded",
  ]);
  expect(carillon.jobs("report:nightly")).toMatchObject([{ state: "succeeded", attempts: 3 }]);
});
