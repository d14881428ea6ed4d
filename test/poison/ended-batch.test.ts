import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { connectThrough, textOf } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;
let ending: Sql;
/** How many more batches the server ends while they write their jobs. */
let left = 0;

const keys = Array.from({ length: 20 }, (_, n) => `k${String(n).padStart(2, "0")}`);

beforeEach(async () => {
  world = await carillon();
  for (const key of keys) await world.put(key, { when: "every 1m" });
  for (const table of ["schedules", "plan"])
    await world.sql`update carillon.${world.sql(table)} set shard = 3`;
  await world.clock.advance(minute);
  ending = connectThrough(world.databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      if (left > 0 && textOf(statement).includes("inserted_jobs")) {
        left -= 1;
        line.cut("the server has ended it");
      }
      line.run(statement);
    },
  }));
  world.as.tick = ending;
});

afterEach(async () => {
  await ending.end();
  await world.stop();
});

const made = async () => new Set((await world.jobs()).map(({ key }) => key)).size;

test("A batch that the server ends is retried with fewer rows, and all are fired in the same tick", async () => {
  left = 1;
  await world.tick();
  expect(await made()).toBe(keys.length);
  expect(await quarantined(world)).toEqual([]);
});

test("When every batch of a shard loses its connection, the tick fails, sets no row aside, and the next tick fires the shard", async () => {
  left = Number.POSITIVE_INFINITY;
  await expect(world.tick()).rejects.toThrow("ConnectionLost");
  expect(await made()).toBe(0);
  expect(await quarantined(world)).toEqual([]);

  left = 0;
  await world.tick();
  expect(await made()).toBe(keys.length);
});
