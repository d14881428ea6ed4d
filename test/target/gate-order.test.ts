import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { closeGate } from "../../lib/db/locks.ts";
import { defineJob, type JobHandler } from "../../lib/job/define-job.ts";
import { again } from "../../lib/job/handler-results.ts";
import { connectThrough, textOf, type WrapLine } from "../race/lines.ts";
import { at, second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

/** A handler's commit passes the gates of several shards, in the order in which edits pass them. */

let world: HandlerWorld;
afterEach(() => world.stop());

/** Schedules get numbers from this one on, and so shards 15, 0, 1 … in this order. */
const firstId = 15;

async function dueTogether(handler: JobHandler, keys: readonly string[]): Promise<void> {
  world = await handlerWorld(handler);
  await world.sql.unsafe(`alter table carillon.schedules alter column id restart with ${firstId}`);
  await world.sql`select carillon.note_grouped(array[${`handler/${handler.name}`}], array[${handler.grouped}::boolean])`;
  const body = { when: `at ${at(10 * second).toISOString()}`, group: "g", target: { handler: handler.name } };
  for (const key of keys) await world.put(key, body);
  await world.clock.advance(10 * second);
  await world.tick();
}

/**
 * Runs the due jobs; an edit of shards 0 and 15 begins before the nth settle of the handler's
 * commit.
 */
async function runWithEditBefore(nth: number): Promise<void> {
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  let settles = 0;
  const held: WrapLine = (line) => ({
    ...line,
    run: (statement) => {
      if (!textOf(statement).includes("settle_job") || ++settles !== nth) return line.run(statement);
      arrive();
      void gone.then(() => line.run(statement));
    },
  });
  const transactions = connectThrough(world.databaseUrl, held, { max: 1 });
  const running = world.run({ transactions });
  await reached;
  const editing = world.sql.begin(async (tx) => {
    await closeGate(tx, 0);
    await closeGate(tx, 15);
  });
  const edited = Promise.allSettled([editing]);
  await until("the edit waits for a gate", async () => (await waitingLocks(world.sql, 2)) === 1);
  go();
  expect(await running).toBe(0);
  expect(await edited).toMatchObject([{ status: "fulfilled" }]);
  await transactions.end();
}

const firstAttempts = async () =>
  (await world.jobs())
    .filter(({ occurrence }) => occurrence.getTime() === at(10 * second).getTime())
    .map(({ key, state, attempt }) => `${key} ${state} ${attempt}`);

test("the rechecks of a group's jobs pass the gates of their shards in order, without a deadlock with an edit of these shards", async () => {
  // Otherwise Postgres ends the edit or the handler's commit: a caller gets an error, or the whole
  // group runs again.
  await dueTogether(
    defineJob({
      name: "together",
      payload: z.unknown(),
      grouped: true,
      run: async (jobs, { sql }) => {
        await sql`insert into written values ('once')`;
        return jobs.map(({ id }) => [id, again("1h")]);
      },
    }),
    ["a", "b"],
  );
  await runWithEditBefore(2);
  expect(await firstAttempts()).toEqual(["a succeeded 1", "b succeeded 1"]);
  expect(await world.written()).toEqual(["once"]);
});

test("a handler's edits and its recheck take all of their gates in order, without a deadlock with an edit of these shards", async () => {
  // Otherwise Postgres ends the edit or the handler's commit: a caller gets an error, or the
  // handler runs again.
  await dueTogether(
    defineJob({
      name: "edits",
      payload: z.unknown(),
      run: async ({ key }, { schedule }) => {
        if (key === "edited") return undefined;
        schedule.put("edited", { when: "in 2h", target: { handler: "edits" } });
        return again("1h");
      },
    }),
    ["edited"],
  );
  await world.run();
  await world.put("own", { when: `at ${at(10 * second).toISOString()}`, target: { handler: "edits" } });
  await runWithEditBefore(1);
  expect(await firstAttempts()).toEqual(["edited succeeded 1", "own succeeded 1"]);
});
