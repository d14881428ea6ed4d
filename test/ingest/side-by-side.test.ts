import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { inboxLock, lockInbox } from "../../lib/db/locks.ts";
import { ingestMessages } from "../../lib/ingest/ingest.ts";
import { stampOf } from "../../lib/ingest/stamp.ts";
import { findSchedule } from "../../lib/schedule/stored/stored-schedule.ts";
import { second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;

beforeAll(async () => {
  world = await ingestWorld();
});

afterAll(() => world.stop());

const ago = (ms: number) => new Date(world.carillon.clock.now().getTime() - ms);
const put = (key: string, payload: unknown) => ({
  put: { key, when: "every 1h", target: { queue: "demo" }, payload },
});

test("a message stays on the queue if the database fails before the message is read", async () => {
  const sql = connect({ DATABASE_URL: world.carillon.databaseUrl }, { max: 1 });
  await sql.end();
  const record = world.record({ id: "m1", body: put("k", 1) });
  // SQS deletes every message that is not named: its commands would be lost.
  expect(await ingestMessages({ ...world.deps, sql }, [record], () => false)).toEqual(["m1"]);
});

test("a command of the queue waits while commands of the inbox are applied", async () => {
  const ingesting: Promise<unknown>[] = [];
  await world.carillon.sql.begin(async (inbox) => {
    await lockInbox(inbox);
    ingesting.push(world.command({ at: ago(0), ...put("beside", 1) }));
    // Otherwise the inbox would decide by marks that are about to change, and an older call would
    // undo the newer command.
    await until("it waits", async () => (await waitingLocks(world.carillon.sql, inboxLock)) === 1);
  });
  expect(await Promise.all(ingesting)).toEqual([[]]);
});

test("a command that waited for a newer one of its key is passed over", async () => {
  await world.command({ at: ago(10 * second), ...put("turns", "newest") });
  const ingesting: Promise<unknown>[] = [];
  await world.carillon.sql.begin(async (other) => {
    await other`select from carillon.command_marks where key = 'turns' for update`;
    ingesting.push(world.command({ at: ago(5 * second), ...put("turns", "older") }));
    await until("it waits", async () => (await waitingLocks(world.carillon.sql)) > 0);
    const base = stampOf({ at: ago(second), place: 0, kind: "put", id: "newer" });
    await other`update carillon.command_marks set revision = revision + 1, base = ${base} where key = 'turns'`;
  });
  await Promise.all(ingesting);
  // With the marks that it had read before, it would undo the newer command, which was
  // acknowledged.
  expect(await findSchedule(world.carillon.sql, "turns")).toMatchObject({ body: { payload: "newest" } });
});
