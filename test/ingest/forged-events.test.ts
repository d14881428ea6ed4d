import { afterAll, beforeAll, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;
beforeAll(async () => {
  world = await ingestWorld();
});
afterAll(() => world.stop());

test.each([
  ["another source", { source: "billing" }, "target.event.source is not among the sources of events"],
  ["a source of AWS", { source: "AWS.ec2" }, "target.event.source may not begin with `aws.`"],
  [
    "a type of Carillon's own",
    { detailType: "carillon.job.dead" },
    "target.event.detailType may not begin with `carillon.`",
  ],
])("a command that asks for events of %s is set aside and changes nothing", async (name, event, error) => {
  const made = `made:${name}`;
  const kept = `kept:${name}`;
  const target = { event };
  await world.carillon.put(kept, { when: "every 1h", target: { event: {} } });
  const commands = [
    { put: { key: made, when: "every 1h", target } },
    { put: { key: made, when: "every 1h", target, delivery: "pulse" } },
    { patch: { key: kept, target } },
  ];
  for (const each of commands) expect(await world.command(each)).toEqual([]);
  const dead = await world.deadLetters(commands.length);
  expect(dead).toHaveLength(commands.length);
  for (const { attributes } of dead) expect(JSON.stringify(attributes)).toContain(error);
  expect(await readSchedule(world.carillon.sql, made)).toBeNull();
  expect(await readSchedule(world.carillon.sql, kept)).toMatchObject({
    version: 1,
    body: { target: { event: { source: "carillon", detailType: "carillon.job.due" } } },
  });
});
