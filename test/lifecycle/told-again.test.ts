import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimEvents } from "../../lib/lifecycle/outbox.ts";
import { tellBus } from "../../lib/lifecycle/tell-bus.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.put("k", { when: "every 1h" });
  await world.sql`
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
    select 'dead', carillon.clock(), id, 'cadence', 0, 1, carillon.clock(), carillon.clock() from carillon.schedules`;
});

afterEach(() => world.stop());

/** Tells the bus what is to be told by now; how many events it took. */
async function told(answer: () => object): Promise<number> {
  const events = new EventBridgeClient({
    region: "us-east-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
  });
  events.middlewareStack.add(
    () => async () => ({ response: {}, output: { $metadata: {}, Entries: [answer()] } }),
    { step: "initialize", priority: "high" },
  );
  return (await tellBus({ sql: world.sql, events, bus: "default", log: world.log }, "due", 10)).told;
}

const takes = () => ({ EventId: "1" });
const refuses = () => ({ ErrorCode: "ThrottlingException" });
const isAway = () => {
  throw new Error("away");
};

test.each([
  ["refuses", refuses],
  ["is away", isAway],
])("an event is told again a while later where the bus %s", async (_, answer) => {
  expect(await told(answer)).toBe(0);
  // At once would be one more request to a bus that has too many.
  expect(await told(takes)).toBe(0);
  await world.clock.advance(minute);
  // Forgotten, the job's end would be known to none of those that wait for it.
  expect(await told(takes)).toBe(1);
  expect(await world.sql`select from carillon.outbox`).toEqual([]);
});

test("an event that the bus does not take is kept for a day, and is then given up with a word in the log", async () => {
  await world.clock.advance(23 * hour);
  expect(await told(refuses)).toBe(0);
  expect(await world.sql`select from carillon.outbox`).toHaveLength(1);
  await world.clock.advance(day);
  expect(await told(refuses)).toBe(0);
  // Kept for ever, the outbox of a bus that is no more would grow without end.
  expect(await world.sql`select from carillon.outbox`).toEqual([]);
  expect(world.log.lines).toContainEqual(expect.objectContaining({ event: "lifecycle.given-up" }));
});

test("an event that one worker is telling is not told by the next worker too", async () => {
  // Else the bus is told twice of most jobs wherever several workers end at once.
  expect(await claimEvents(world.sql, 10, "fresh")).toHaveLength(1);
  expect(await claimEvents(world.sql, 10, "fresh")).toEqual([]);
});
