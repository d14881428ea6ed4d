import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { again } from "../../lib/job/handler-results.ts";
import { connectThrough, holdAnswer, textOf, type WrapLine } from "../race/lines.ts";
import { hour, minute, second } from "../support/instants.ts";
import { someMoments } from "../support/some-moments.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

let world: HandlerWorld;
afterEach(() => world.stop());

/** Writes once per check, makes a schedule, and asks for one more check. */
const effects = defineJob({
  name: "effects",
  payload: z.unknown(),
  maxChecks: 1,
  run: async (job, { sql, schedule }) => {
    await sql`insert into written values (${`${job.key} ${job.checks}`})`;
    schedule.put(`${job.key}:next`, { when: "in 2h", target: { handler: "effects" } });
    return job.checks === 0 ? again("1h") : undefined;
  },
});

/**
 * Cuts the connection at its nth statement: the server has not seen it ("before"), or has and the
 * answer is lost ("after").
 */
function cutAt(nth: number, side: "before" | "after"): { wrap: WrapLine; count: () => number } {
  let count = 0;
  let cut = false;
  const wrap: WrapLine = (line, onLost) => {
    let lost = false;
    const lose = () => {
      lost = true;
      cut = true;
      onLost();
    };
    return {
      isLost: () => lost || line.isLost(),
      cut: line.cut,
      close: line.close,
      run: (statement) => {
        if (lost) return statement.reject(new ConnectionLost("it was cut"));
        count++;
        if (cut || count !== nth) return line.run(statement);
        if (side === "before") {
          lose();
          // The server rolls back an open transaction when the connection goes.
          void line.close();
          return statement.reject(new ConnectionLost("it was cut"));
        }
        holdAnswer(statement, () => {
          lose();
          void line.close();
          statement.reject(new ConnectionLost("it was cut"));
        });
        line.run(statement);
      },
    };
  };
  return { wrap, count: () => count };
}

/** Makes one job that is due now. Its recheck comes an hour later. */
async function oneDue(): Promise<void> {
  world = await handlerWorld(effects);
  const retry = { attempts: 3, base: "1m", max: "1m" };
  await world.put("k", { when: "in 10s", target: { handler: "effects" }, retry });
  await world.clock.advance(10 * second);
  await world.tick();
}

/**
 * Expects that in the end each check has had its effects once, whatever became of the first
 * attempt.
 */
async function endsWell(where: string): Promise<void> {
  for (let round = 0; round < 5; round++) {
    await world.clock.advance(round < 3 ? minute : hour);
    await world.runDue();
  }
  const ofJob = (await world.written()).filter((text) => text.startsWith("k "));
  expect(ofJob, where).toEqual(["k 0", "k 1"]);
  const jobs = await world.jobs("k");
  expect(
    jobs.map(({ state }) => state),
    where,
  ).toEqual(["succeeded", "succeeded"]);
  const made = await world.sql`select from carillon.schedules where key = 'k:next'`;
  expect(made, where).toHaveLength(1);
}

/** Returns how many statements were sent on the connection. */
async function withCutAt(nth: number, side: "before" | "after", told = ""): Promise<number> {
  await oneDue();
  const { wrap, count } = cutAt(nth, side);
  const transactions = connectThrough(world.databaseUrl, wrap, { max: 1 });
  expect(await world.run({ transactions })).toBe(0);
  await transactions.end();
  await endsWell(`${side} statement ${nth} ${told}`);
  await world.stop();
  return count();
}

/** A run tries one in four of the moments in the middle, when nothing can have been committed. */
const oneOf = 4;

test("if a handler's connection dies at any statement, its writes and its job's success happen once, together", async () => {
  const statements = await withCutAt(Number.POSITIVE_INFINITY, "before");
  // begin, the insert, the edit with its locks, the settle, commit.
  expect(statements).toBeGreaterThan(10);
  const middle = Array.from({ length: statements - 1 }, (_, index) => index + 1);
  const { tried, told } = someMoments(middle, oneOf);
  expect(tried.length).toBeGreaterThan(2);
  for (const nth of tried) await withCutAt(nth, "before", told);
  for (const nth of [2, statements - 1, statements]) await withCutAt(nth, "after");
  await withCutAt(statements, "before");
  await oneDue();
}, 120_000);

test.each(["before", "after"] as const)(
  "a worker that dies %s the commit leaves nothing half done",
  async (side) => {
    await oneDue();
    let dead = false;
    const dies: WrapLine = (line) => ({
      ...line,
      run: (statement) => {
        const text = textOf(statement);
        if (side === "before" && text.includes("settle_job")) dead = true;
        if (text.includes("settle_parcel")) dead = true;
        if (dead) statement.reject(new ConnectionLost("the process was killed"));
        else line.run(statement);
      },
    });
    const worker = connectThrough(world.databaseUrl, dies, { max: 2 });
    const transactions = connectThrough(world.databaseUrl, dies, { max: 1 });
    expect(await world.run({ worker, transactions })).toBe(1);
    await Promise.all([worker.end(), transactions.end()]);
    expect(await world.written()).toEqual(side === "before" ? [] : ["k 0"]);
    expect(await world.sql`select from carillon.parcels where lease_until is not null`).toHaveLength(1);
    await endsWell(side);
    const [job] = await world.jobs("k");
    expect(job?.attempt).toBe(side === "before" ? 2 : 1);
  },
);
