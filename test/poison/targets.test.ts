import { afterEach, expect, test } from "vitest";
import { inboxWorld } from "../inbox/inbox-world.ts";
import { ingestWorld } from "../ingest/ingest-world.ts";

let stop: () => Promise<void> = async () => {};
afterEach(() => stop());

const long = "x".repeat(4_000);

const put = (key: string, target: object) => ({ put: { key, when: "every 1h", target } });

/** Each target is odd only by its length. */
const odd = [
  put("webhook", { webhook: { url: `https://${"漢字仮名交じり文".repeat(120)}.example/` } }),
  put("queue-url", { queue: `https://sqs.eu-central-1.amazonaws.com/123456789012/${long}` }),
  put("lambda", { lambda: `arn:aws:lambda:eu-central-1:123456789012:function:${long}` }),
  put("bus", {
    event: { bus: `arn:aws:events:eu-central-1:123456789012:event-bus/${long}`, detailType: "t" },
  }),
];
const good = ["before", "after"].map((key) => put(key, { queue: "demo" }));
const commands = [...good.slice(0, 1), ...odd, ...good.slice(1)];
const oddKeys = odd.map(({ put: { key } }) => key);

test("A command of the inbox whose target is too long is refused with its path, and the others are applied", async () => {
  const world = await inboxWorld();
  stop = world.stop;
  for (const { put: body } of commands)
    await world.caller.sql`select carillon.put_schedule(${JSON.stringify(body)}::text::jsonb)`;
  await world.tick();
  expect((await world.refused()).map(({ key }) => key)).toEqual(oddKeys);
  expect(await world.sql`select key from carillon.schedules order by id`).toEqual([
    { key: "before" },
    { key: "after" },
  ]);
});

test("A command of a queue whose target is too long is dead with its path, and the others are applied", async () => {
  const world = await ingestWorld();
  stop = world.stop;
  expect(await world.ingest(commands.map((body) => ({ body })))).toEqual([]);
  const dead = await world.carillon.sql<{ key: string; path: string }[]>`
    select key, refusal -> 'faults' -> 0 ->> 'path' as path from carillon.dead_commands order by id`;
  expect(dead.map(({ key }) => key)).toEqual(oddKeys);
  expect(dead.map(({ path }) => path)).toEqual([
    "put.target.webhook.url",
    "put.target.queue",
    "put.target.lambda",
    "put.target.event.bus",
  ]);
  expect(await world.carillon.sql`select key from carillon.schedules order by key`).toEqual([
    { key: "after" },
    { key: "before" },
  ]);
});
