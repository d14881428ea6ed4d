import { randomBytes } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { runNode } from "../support/run-node.ts";

let world: Carillon;
afterEach(() => world.stop());

test("A tick that fails still reports the sessions of other programs that keep Carillon's locks", async () => {
  world = await carillon();
  const app = `app_${randomBytes(6).toString("hex")}`;
  await world.sql.unsafe(`create role ${app} login password 'test'`);
  const url = new URL(world.databaseUrl);
  url.username = app;
  url.password = "test";
  await world.sql`alter function carillon.queues_counted_empty rename to gone`;
  const module = `
    import postgres from "postgres";
    import { assemble } from "./functions/tick.ts";
    const app = postgres(${JSON.stringify(url.href)}, { max: 1 });
    await app.unsafe("select pg_advisory_lock(2, 1)");
    const { handler } = assemble(process.env, { now: () => 0, sleep: async () => {} });
    const invocation = { awsRequestId: "1", getRemainingTimeInMillis: () => 50_000 };
    await handler({ id: "1" }, invocation).catch((error) => console.log(String(error)));
    process.exit(0);`;
  const queueUrl = "http://127.0.0.1:1/000000000000/queue";
  const out = await runNode(module, {
    DATABASE_URL: world.databaseUrl,
    AWS_REGION: "eu-central-1",
    FAST_QUEUE_URL: queueUrl,
    SLOW_QUEUE_URL: queueUrl,
    LIFECYCLE_EVENTS: "none",
    CARILLON_LOG: "json",
  });
  expect(out).toContain("parts of the tick failed");
  expect(out).toContain(`"event":"tick.foreign-locks","user":"${app}","locks":"gates of edits (2)"`);
  expect(out).toContain(`"ForeignLocks":1`);
});
