import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { defineJob } from "../../lib/job/define-job.ts";
import type { InTransaction } from "../../lib/job/handler-context.ts";
import { connectThrough, textOf, type WrapLine } from "../race/lines.ts";
import { second } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

let world: HandlerWorld;
let kept: InTransaction | undefined;

const throws = defineJob({
  name: "throws",
  payload: z.unknown(),
  run: async (_, context) => {
    kept = context;
    await context.sql`insert into written values ('undone')`;
    throw new Error("boom");
  },
});

beforeEach(async () => {
  world = await handlerWorld(throws);
  await world.put("k", { when: "in 10s", target: { handler: "throws" } });
  await world.clock.advance(10 * second);
});

afterEach(() => world.stop());

test("a handler's transaction has ended when the handler's failure is written", async () => {
  // Otherwise each failure keeps a connection, and after a few of them no handler gets one any
  // more.
  await world.runDue();
  expect(await world.jobs("k")).toMatchObject([{ state: "waiting", attempt: 1, error: "Error: boom" }]);
  const open = await world.sql`
    select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`;
  expect(open).toEqual([]);
});

test("a job's failure is written only after its handler's writes are rolled back", async () => {
  // Otherwise the next attempt may begin while the one before still has its rows locked.
  const steps: string[] = [];
  const noting =
    (piece: string, step: string): WrapLine =>
    (line) => ({
      ...line,
      run: (statement) => {
        const isIt = textOf(statement).includes(piece);
        if (isIt && piece === "rollback") statement.then(() => steps.push(step));
        else if (isIt) steps.push(step);
        line.run(statement);
      },
    });
  const transactions = connectThrough(world.databaseUrl, noting("rollback", "undone"), { max: 1 });
  const worker = connectThrough(world.databaseUrl, noting("settle_parcel", "written down"), { max: 2 });
  await world.tick();
  await world.run({ transactions, worker });
  await Promise.all([transactions.end(), worker.end()]);
  expect(steps).toEqual(["undone", "written down"]);
});

test("ctx.schedule takes no edit after the handler has thrown", async () => {
  // Otherwise code that goes on behind a failed attempt believes that its edit will be made.
  await world.runDue();
  expect(() => kept?.schedule.cancel("k")).toThrow("ctx.schedule takes no more edits");
});
