import { afterEach, beforeEach, expect, test } from "vitest";
import { applyBatch, type BatchDeps, type BatchResult } from "../../lib/command/apply-batch.ts";
import type { Command } from "../../lib/command/command-shape.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { acceptance } from "../inbox/inbox-world.ts";
import { connectThrough, valuesOf, type WrapLine } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

let world: Carillon;
let deps: BatchDeps;

beforeEach(async () => {
  world = await carillon();
  deps = { sql: world.sql, queue: world.queue, log: world.log, acceptance };
});
afterEach(() => world.stop());

const caller = { name: "ann", origin: { via: "api", request: "request-1" } } as const;
const put = (key: string, description = ""): Command => ({
  input: { put: { key, description, when: "every 1h", target: { queue: "demo" } } },
  caller,
});
const became = (results: readonly BatchResult[]) =>
  results.map((result) => (result.change === "not-done" ? result.why : result.change));

async function breakKeys(how: string): Promise<void> {
  await world.sql.unsafe(`
    create function carillon.break_keys() returns trigger language plpgsql as $$ begin ${how}; end $$;
    create trigger break_keys before insert on carillon.schedules for each row when (new.key like 'bad%')
      execute function carillon.break_keys()`);
}

test("an operation that Carillon itself fails to read fails alone in its batch", async () => {
  deps.acceptance = {
    ...acceptance,
    body: (body) => {
      if (body.description === "poison") throw new TypeError("Carillon has a mistake.");
    },
  };
  const results = await applyBatch(deps, [put("a"), put("b", "poison"), put("c"), { input: 7, caller }]);
  expect(became(results)).toEqual(["created", "failed", "created", "refused"]);
});

test("the log of a failed operation has the request, the operation and its key, and no value", async () => {
  await breakKeys("raise exception 'It does not take \"%\".', new.key || '-secret'");
  await applyBatch(deps, [put("a"), put("bad"), put("c")]);
  const lines = world.log.lines.filter(({ event }) => event === "batch.failed");
  expect(lines).toMatchObject([
    { level: "error", fields: { request: "request-1", operation: 1, key: "bad" } },
  ]);
  expect(JSON.stringify(lines)).not.toContain("bad-secret");
});

test("a batch whose time is up leaves the remaining operations untried, and reports them", async () => {
  await breakKeys("raise exception 'no'");
  let now = 0;
  const { timing } = world.queue;
  // Each reading of the clock is eight seconds later than the one before.
  deps.queue = { ...world.queue, timing: { ...timing, now: () => (now += 8_000) } };
  const results = await applyBatch(deps, [put("a"), put("b"), put("bad"), put("c")]);
  expect(became(results).filter((each) => each === "untried").length).toBeGreaterThan(0);
  expect(became(results)[0]).toMatch(/created|untried/);
  expect(world.log.lines).toContainEqual(expect.objectContaining({ event: "batch.untried" }));
});

test("a batch that loses its connection fails as a whole, and no operation is blamed", async () => {
  const cut: WrapLine = (line, onLost) => ({
    ...line,
    run: (statement) => {
      if (!JSON.stringify(valuesOf(statement)).includes("cut")) return line.run(statement);
      onLost();
      statement.reject(new ConnectionLost("a test cut it"));
    },
  });
  const sql = connectThrough(world.databaseUrl, cut);
  await expect(applyBatch({ ...deps, sql }, [put("a"), put("cut")])).rejects.toThrow(ConnectionLost);
  await sql.end();
  expect(world.log.lines.filter(({ event }) => event === "batch.failed")).toEqual([]);
});
