import { testCarillon } from "carillon-dev/testing";
import { expect, test } from "vitest";

test("after an outage of two hours, every reading that was missed is made up, in its order", async () => {
  await using carillon = await testCarillon({ now: "2027-06-01T10:00:00Z" });
  await carillon.put("meter:7", {
    when: "*/30 * * * *",
    target: { webhook: { url: "https://meters.example.com/read" } },
    catchUp: { policy: "all" },
  });

  await carillon.advance("1h");
  await carillon.ticksMissing("2h");
  await carillon.advance("2h15m");

  const readings = carillon.deliveries("meter:7").map(({ message, at }) => [message.time, at]);
  expect(readings.map(([due]) => due)).toEqual([
    "2027-06-01T10:30:00.000Z",
    "2027-06-01T11:00:00.000Z",
    "2027-06-01T11:30:00.000Z",
    "2027-06-01T12:00:00.000Z",
    "2027-06-01T12:30:00.000Z",
    "2027-06-01T13:00:00.000Z",
  ]);
  const made = await carillon.explain("meter:7", "2027-06-01T12:00:00Z");
  expect(made).toMatchObject({ outcome: "ran" });
});
