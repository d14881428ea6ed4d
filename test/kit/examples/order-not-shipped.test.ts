import { defineJob } from "carillon/job";
import { testCarillon } from "carillon-dev/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const alerts: number[] = [];

const notShipped = defineJob({
  name: "not-shipped",
  payload: z.object({ order: z.int() }),
  run: async ({ payload }) => void alerts.push(payload.order),
});

test("an order that has not shipped within two days raises one alert", async () => {
  await using carillon = await testCarillon({ now: "2027-06-01T10:00:00Z", handlers: [notShipped] });
  for (const order of [41, 42])
    await carillon.put(`order:${order}:not-shipped`, {
      when: "in 2d",
      target: { handler: "not-shipped" },
      payload: { order },
    });

  await carillon.advance("1d");
  await carillon.delete("order:41:not-shipped"); // It has shipped.
  await carillon.advance("10d");

  expect(alerts).toEqual([42]);
  expect(carillon.jobs("order:42:not-shipped")).toMatchObject([
    { state: "succeeded", startedAt: "2027-06-03T10:00:00.000Z" },
  ]);
});
