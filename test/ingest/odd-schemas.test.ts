import { afterAll, beforeAll, expect, test } from "vitest";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { oddHandlers, oddNames, secret } from "../command/odd-schemas.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;
beforeAll(async () => {
  world = await ingestWorld();
});
afterAll(() => world.stop());

test("in a batch of messages each command whose payload's schema fails is dead, and the others are applied", async () => {
  const targets = allowedTargetsFrom({ AWS_REGION: "local" });
  world.deps.acceptance = acceptanceOf({ handlers: oddHandlers, targets });
  const put = (name: string) => ({
    body: { put: { key: name, when: "every 1h", target: { handler: name }, payload: { n: 1 } } },
  });
  expect(await world.ingest(["plain", ...oddNames].map(put))).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await readSchedule(world.carillon.sql, "plain")).not.toBeNull();
  const dead = await world.carillon.sql`
    select key, refusal -> 'faults' -> 0 ->> 'message' as fault from carillon.dead_commands order by id`;
  expect(dead).toEqual([
    { key: "throws", fault: "cannot be read: its schema threw Error" },
    {
      key: "rejects",
      fault: "cannot be read: its schema returned a promise, and has to be synchronous",
    },
    { key: "says-odd", fault: "half of \ufffd and NUL " },
    { key: "unreadable", fault: "cannot be read: its schema threw Error" },
    { key: "endless", fault: "cannot be read: its schema takes too long" },
  ]);
  expect(JSON.stringify(world.carillon.log.lines)).not.toContain(secret);
});
