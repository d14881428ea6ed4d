import { testCarillon } from "carillon-dev/testing";
import { expect, test } from "vitest";

test.each([
  {
    now: "2027-03-26T12:00:00Z",
    runs: [
      "2027-03-27T01:30:00.000Z",
      "2027-03-28T01:00:00.000Z", // 02:30 does not exist on this day: it runs at 03:00.
      "2027-03-29T00:30:00.000Z",
    ],
  },
  {
    now: "2027-10-29T12:00:00Z",
    runs: [
      "2027-10-30T00:30:00.000Z",
      "2027-10-31T00:30:00.000Z", // 02:30 comes twice: it runs at the first.
      "2027-11-01T01:30:00.000Z",
    ],
  },
])("the billing run at half past two bills once on each day, from $now", async ({ now, runs }) => {
  await using carillon = await testCarillon({ now });
  await carillon.put("billing", {
    when: "30 2 * * *",
    timezone: "Europe/Berlin",
    target: { queue: "billing" },
  });
  await carillon.advance("3d");
  expect(carillon.deliveries("billing").map(({ at }) => at)).toEqual(runs);
});
