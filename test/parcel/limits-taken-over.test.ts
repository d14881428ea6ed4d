import { afterEach, beforeEach, expect, test } from "vitest";
import { definedOnce } from "../../lib/limit/define-limits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("a function that could not store its handlers' limits does so with its next event", async () => {
  const handler = {
    name: "a",
    concurrency: 3,
    rate: null,
    grouped: false,
    transaction: true,
    maxChecks: 1,
    maxAheadMs: minute,
  };
  const take = definedOnce(world.sql, world.log, { handlers: [handler] });
  await world.sql.unsafe(
    "alter function carillon.define_limits(text[], int[], int[], int[]) rename to define_limits_later",
  );
  await take();
  await world.sql.unsafe(
    "alter function carillon.define_limits_later(text[], int[], int[], int[]) rename to define_limits",
  );
  await take();
  // Otherwise the handler's jobs would run without a limit for as long as the function lives.
  expect(await world.sql`select name, concurrency from carillon.targets where name = 'handler/a'`).toEqual([
    { name: "handler/a", concurrency: 3 },
  ]);
});
