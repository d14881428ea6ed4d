import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";
import type { InTransaction } from "../../lib/job/handler-context.ts";
import { second } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

let world: HandlerWorld;
afterEach(() => world.stop());

/** Calls a member of `ctx.sql` that its type does not have. */
async function called(sql: InTransaction["sql"], name: string, ...details: unknown[]): Promise<void> {
  const member: unknown = Reflect.get(sql, name);
  if (typeof member === "function") await Reflect.apply(member, sql, details);
}

/** Runs a job whose handler reaches for the pool behind its `ctx.sql`. */
async function ran(act: (sql: InTransaction["sql"]) => Promise<void>): Promise<void> {
  world = await handlerWorld(
    defineJob({ name: "reaches", payload: z.unknown(), run: (_, { sql }) => act(sql) }),
  );
  await world.put("k", { when: "in 10s", target: { handler: "reaches" } });
  await world.clock.advance(10 * second);
  await world.runDue();
}

test("a handler cannot begin a second transaction, whose writes would remain though the job failed", async () => {
  await ran(async (sql) => {
    await called(sql, "begin", (tx: InTransaction["sql"]) => tx`insert into written values ('beside')`);
    throw new Error("boom");
  });
  // A retry of the job would write it a second time.
  expect(await world.jobs("k")).toMatchObject([{ state: "waiting", attempt: 1, error: "Error: boom" }]);
  expect(await world.written()).toEqual([]);
});

test.each(["notify", "reserve", "listen", "file", "largeObject", "subscribe"])(
  "a handler finds no %s, which would work outside of its job's transaction",
  async (name) => {
    let found: unknown;
    await ran(async (sql) => {
      found = Reflect.get(sql, name);
    });
    expect(found).toBeUndefined();
  },
);

test("a handler cannot change the pool that all handlers of its function share", async () => {
  await ran(async (sql) => {
    expect(Reflect.get(sql, "options")).toBeUndefined();
    expect(Reflect.set(sql, "unsafe", () => "mine")).toBe(false);
    expect(Reflect.defineProperty(sql, "json", { value: () => "mine" })).toBe(false);
    expect(Reflect.deleteProperty(sql, "array")).toBe(false);
    await sql`insert into written select ${sql.json("x")}::jsonb #>> '{}'`;
  });
  expect(await world.jobs("k")).toMatchObject([{ state: "succeeded" }]);
  expect(await world.transactions.unsafe("select 1 as one")).toEqual([{ one: 1 }]);
});

test.each(["end", "close"])(
  "a handler cannot end the connections that all handlers of its function share by %s",
  async (name) => {
    await ran((sql) => called(sql, name));
    // Every later job of this function would fail.
    expect(await world.transactions`select 1 as one`).toEqual([{ one: 1 }]);
    expect(await world.jobs("k")).toMatchObject([{ state: "succeeded" }]);
  },
);

test("a handler cannot commit its job's transaction by itself", async () => {
  await ran(async (sql) => {
    await sql`insert into written values ('early')`;
    await sql`commit`;
  });
  // Its writes would remain though the job failed, and be written a second time by the retry.
  const [job] = await world.jobs("k");
  expect(job?.error).toContain("ctx.sql is one transaction");
  expect(await world.written()).toEqual([]);
});

test.each([
  ["a setting", "set search_path = elsewhere"],
  ["a read-only session", "SET SESSION characteristics as transaction read only"],
  ["a role", " set role carillon_handler"],
  ["a reset", "reset all"],
])(
  "a handler cannot leave %s behind on the connection, with which the next job would be settled",
  async (_, text) => {
    await ran(async (sql) => {
      await sql.unsafe(text);
    });
    const [job] = await world.jobs("k");
    expect(job).toMatchObject({ state: "waiting", error: expect.stringContaining("use `set local`") });
  },
);

test("a handler may use settings that end with its transaction, and lists of values that read like statements", async () => {
  await ran(async (sql) => {
    await sql`set local statement_timeout = '5s'`;
    await sql`set transaction isolation level read committed`;
    await sql`insert into written select t from unnest(${["set the table", "end of day"]}::text[]) t where t in ${sql(["set the table", "end of day"])}`;
    await sql`insert into written select 'b' where 'end of day' in ${sql(["end of day"])}`;
  });
  expect(await world.jobs("k")).toMatchObject([{ state: "succeeded", error: null }]);
  expect(await world.written()).toEqual(["b", "end of day", "set the table"]);
});
