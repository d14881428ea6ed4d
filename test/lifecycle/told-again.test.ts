import {
  EventBridgeClient,
  EventBridgeServiceException,
  type PutEventsRequestEntry,
} from "@aws-sdk/client-eventbridge";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimEvents } from "../../lib/lifecycle/outbox.ts";
import { tellBus } from "../../lib/lifecycle/tell-bus.ts";
import { tellEvents } from "../../lib/tick/housekeeping/tell-events.ts";
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

/** Sends the due events to the bus; returns how many it took. */
const told = async (answer: () => object) => (await tellBus(depsOf(answer), "due", 10)).told;

function depsOf(answer: (entry: PutEventsRequestEntry) => object) {
  const events = new EventBridgeClient({
    region: "us-east-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
  });
  events.middlewareStack.add(
    () =>
      async ({ input }) => ({
        response: {},
        output: { $metadata: {}, Entries: entriesOf(input).map(answer) },
      }),
    { step: "initialize", priority: "high" },
  );
  return { sql: world.sql, events, bus: "default", log: world.log };
}

const entriesOf = (input: object) => ("Entries" in input ? (input.Entries as PutEventsRequestEntry[]) : []);

const takes = () => ({ EventId: "1" });
const refuses = () => ({ ErrorCode: "ThrottlingException" });
const isAway = () => {
  throw new Error("away");
};

test.each([
  ["refuses", refuses],
  ["is away", isAway],
])("an event is sent again a while later if the bus %s", async (_, answer) => {
  expect(await told(answer)).toBe(0);
  // To send the event again at once would be one more request to a bus that is overloaded.
  expect(await told(takes)).toBe(0);
  await world.clock.advance(minute);
  // If the event were deleted, its receivers would never learn of the job's end.
  expect(await told(takes)).toBe(1);
  expect(await world.sql`select from carillon.outbox`).toEqual([]);
});

test("an event that the bus does not take is kept for a day, and is then given up with a line in the log", async () => {
  await world.clock.advance(23 * hour);
  expect(await told(refuses)).toBe(0);
  expect(await world.sql`select from carillon.outbox`).toHaveLength(1);
  await world.clock.advance(day);
  expect(await told(refuses)).toBe(0);
  // Otherwise the outbox of a deleted bus would grow for ever.
  expect(await world.sql`select from carillon.outbox`).toEqual([]);
  expect(world.log.lines).toContainEqual(expect.objectContaining({ event: "lifecycle.given-up" }));
});

test("an event that one worker is sending is not sent by the next worker too", async () => {
  // Otherwise most events are sent twice when several workers end at once.
  expect(await claimEvents(world.sql, 10, "fresh")).toHaveLength(1);
  expect(await claimEvents(world.sql, 10, "fresh")).toEqual([]);
});

/** Stores events of another schedule's jobs. */
async function moreEvents(occurrence: string): Promise<void> {
  await world.sql`
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
    select 'dead', ${occurrence}::timestamptz, 0, 'cadence', 0, 1, carillon.clock(), carillon.clock()`;
}

const left = async () => (await world.sql`select from carillon.outbox`).length;

test("an event whose occurrence is out of range for a date keeps no other from being sent", async () => {
  await moreEvents("2026-03-02T10:00:00Z");
  await world.sql`update carillon.outbox set occurrence = 'infinity' where schedule_id = 0`;
  expect(await told(takes)).toBe(2);
  expect(await left()).toBe(0);
});

test("an event for which the bus refuses a whole request keeps no other event of that request from being sent", async () => {
  for (let each = 0; each < 4; each++) await moreEvents(`2026-03-02T10:0${each}:00Z`);
  const deps = depsOf(({ Detail = "" }) => {
    if (Detail.includes("10:02:00"))
      throw new EventBridgeServiceException({ name: "ValidationException", $fault: "client", $metadata: {} });
    return takes();
  });
  expect((await tellBus(deps, "due", 10)).told).toBe(4);
  expect(await left()).toBe(1);
});

test("an event that the bus never takes keeps no new event from being sent in the same tick", async () => {
  const deps = depsOf(({ Detail = "" }) => (Detail.includes("10:02:00") ? refuses() : takes()));
  await world.sql`delete from carillon.outbox`;
  await moreEvents("2026-03-02T10:02:00Z");
  await tellBus(deps, "fresh", 10);
  await world.clock.advance(minute);
  await moreEvents("2026-03-02T10:03:00Z");
  await world.sql`update carillon.outbox set offer_at = offer_at + interval '30 seconds' where tries = 0`;
  await expect(tellEvents(deps, () => false)).rejects.toThrow("does not take events");
  expect(await left()).toBe(1);
});
