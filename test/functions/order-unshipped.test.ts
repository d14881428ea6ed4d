import { afterEach, beforeEach, expect, test } from "vitest";
import { handlers } from "../../functions/handlers.ts";
import { at, hour, minute } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "../target/handler-world.ts";

let world: HandlerWorld;
beforeEach(async () => {
  world = await handlerWorld(...handlers);
});
afterEach(() => world.stop());

/** Puts the schedule, as `order.created` does. */
const placed = (payload: object = {}, when = "in 4h") =>
  world.put("order:7:unshipped", {
    when,
    group: "order:7",
    target: { handler: "order-unshipped" },
    payload: { orderId: 7, ...payload },
  });

/** Lets time pass, minute by minute where a job may be due. */
async function pass(hours: number): Promise<void> {
  await world.clock.advance(hours * hour - 2 * minute);
  await world.runDue();
  for (let passed = 0; passed < 2; passed++) {
    await world.clock.advance(minute);
    await world.runDue();
  }
}

const said = () => world.log.lines.filter(({ event }) => event.startsWith("handler."));

test("An order that is not shipped alerts after some hours, and escalates later", async () => {
  await placed();
  await pass(4);
  expect(said()).toMatchObject([
    { level: "warn", event: "handler.order-unshipped", fields: { order: "7", since: at(0).toISOString() } },
  ]);
  await pass(20);
  expect(said().slice(1)).toMatchObject([
    { level: "error", event: "handler.order-escalated", fields: { order: "7", after: "24h" } },
  ]);
  await pass(100);
  expect(said()).toHaveLength(2);
  expect(await world.jobs()).toMatchObject([
    { state: "succeeded", occurrence: at(4 * hour) },
    { state: "succeeded", occurrence: at(24 * hour) },
  ]);
});

test("An order that is shipped in time causes no alert", async () => {
  await placed();
  await pass(3);
  await world.remove("order:7:unshipped");
  await pass(30);
  expect(said()).toEqual([]);
});

test("An order that is shipped after the alert does not escalate", async () => {
  await placed({ alertAfter: "2h", escalateAfter: "5h" }, "in 2h");
  await pass(2);
  await world.remove("order:7:unshipped");
  await pass(30);
  expect(said()).toMatchObject([{ event: "handler.order-unshipped" }]);
});
