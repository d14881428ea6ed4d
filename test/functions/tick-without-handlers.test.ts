import { afterEach, expect, test } from "vitest";
import { inboxWorld } from "../inbox/inbox-world.ts";
import { minute } from "../support/instants.ts";
import { runNode } from "../support/run-node.ts";

let stop: () => Promise<void> = async () => {};
afterEach(() => stop());

test("If a handler's file throws at import, a tick fires, applies commands that need no handler, keeps the others, and its log names the error", async () => {
  const world = await inboxWorld();
  stop = world.stop;
  await world.put("a", { when: "every 1m" });
  await world.caller.sql`select carillon.put_schedule(${JSON.stringify({
    key: "b",
    when: "every 1h",
    target: { handler: "greet" },
  })}::text::jsonb)`;
  await world.caller.sql`select carillon.put_schedule(${JSON.stringify({
    key: "c",
    when: "every 1h",
    target: { queue: "demo" },
  })}::text::jsonb)`;
  await world.clock.advance(minute);
  const throwing = `throw new Error("STRIPE_KEY is not set"); export const handlers = [];`;
  const module = `
    import { registerHooks } from "node:module";
    const url = "data:text/javascript," + encodeURIComponent(process.env.THROWING);
    registerHooks({
      resolve: (name, context, next) => (name === "#handlers" ? { url, shortCircuit: true } : next(name, context)),
    });
    const { handler } = await import("./functions/tick.ts");
    const invocation = { awsRequestId: "1", getRemainingTimeInMillis: () => 50_000 };
    await handler({ id: "1" }, invocation).catch((error) => console.log(String(error)));
    process.exit(0);`;
  const queueUrl = "http://127.0.0.1:1/000000000000/queue";
  const out = await runNode(module, {
    THROWING: throwing,
    DATABASE_URL: world.databaseUrl,
    AWS_REGION: "eu-central-1",
    AWS_ENDPOINT_URL_SQS: "http://127.0.0.1:1",
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "not-a-secret",
    FAST_QUEUE_URL: queueUrl,
    SLOW_QUEUE_URL: queueUrl,
    LIFECYCLE_EVENTS: "none",
    CARILLON_LOG: "text",
  });
  expect(out).toContain("STRIPE_KEY is not set");
  expect((await world.jobs("a")).length).toBeGreaterThan(0);
  const [applied] = await world.sql`select key from carillon.schedules where key in ('b', 'c')`;
  expect(applied).toEqual({ key: "c" });
  expect(await world.waiting()).toBe(1);
});
