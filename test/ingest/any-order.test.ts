import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { second } from "../support/instants.ts";
import { type IngestWorld, ingestWorld, type MessageSpec } from "./ingest-world.ts";

let world: IngestWorld;
beforeAll(async () => {
  world = await ingestWorld();
});
afterAll(() => world.stop());

const target = { queue: "demo" };
const names = ["a", "b"];

/** Commands of a few keys, in the order in which they were given; some at the same second. */
const given = fc.array(
  fc.record({
    name: fc.constantFrom(...names),
    verb: fc.constantFrom("put", "put", "delete", "patch", "pause", "resume"),
    owner: fc.constantFrom(undefined, "ann"),
    value: fc.integer({ min: 0, max: 99 }),
    field: fc.constantFrom("x", "y"),
    pause: fc.integer({ min: 0, max: 2 }),
  }),
  { minLength: 1, maxLength: 9 },
);
type Given = typeof given extends fc.Arbitrary<infer Value> ? Value : never;

function commandsOf(all: Given, prefix: string): object[] {
  let at = world.carillon.clock.now().getTime() - 100 * second;
  return all.map(({ name, verb, owner, value, field, pause }, index) => {
    at += pause * second;
    const key = prefix + name;
    const head = { id: `${prefix}${index}`, at: new Date(at) };
    const hold = { ...head, [verb]: { key, ...(owner === undefined ? {} : { owner }) } };
    const inner = { key, payload: { [field]: value, both: value } };
    if (verb === "put") return { ...head, put: { ...inner, when: "every 1h", target } };
    if (verb === "patch") return { ...head, patch: inner };
    return verb === "delete" ? { ...head, delete: key } : hold;
  });
}

async function endOf(prefix: string) {
  return Promise.all(
    names.map(async (name) => {
      const schedule = await readSchedule(world.carillon.sql, prefix + name);
      if (schedule === null) return null;
      const { body, state, holds } = schedule;
      return { payload: body.payload, state, owners: holds.map(({ owner }) => owner).sort() };
    }),
  );
}

/** Delivers messages until only commands remain that wait for a schedule that never comes. */
async function drain(messages: readonly MessageSpec[]): Promise<void> {
  let left = messages;
  for (let receives = 1; left.length > 0 && receives < 9; receives += 1) {
    const stay = new Set(await world.ingest(left.map((message) => ({ ...message, receives }))));
    left = left.filter(({ id }) => stay.has(id ?? ""));
  }
}

let runs = 0;

test("commands that arrive in any order, twice, in batches and at two workers at once have the result of one after the other", async () => {
  await fc.assert(
    fc.asyncProperty(given, fc.array(fc.nat(), { minLength: 40, maxLength: 40 }), async (all, dice) => {
      runs += 1;
      const [inOrder, mixed] = [`in-order-${runs}:`, `mixed-${runs}:`];
      // Sorted as the stamps sort them: commands of one instant in the order of their kinds.
      const ordered = commandsOf(all, inOrder);
      const sorted = ordered.toSorted((a, b) => orderOf(a).localeCompare(orderOf(b)));
      const messages = sorted.map((body, index): MessageSpec => ({ id: `${inOrder}${index}`, body }));
      for (const message of messages) await world.ingest([message]);
      // A pause that was given before the put of its schedule waits for it.
      await drain(messages);
      const roll = dice.values();
      const die = () => roll.next().value ?? 0;
      const commands = commandsOf(all, mixed);
      const doubled = commands.flatMap((command) => (die() % 3 === 0 ? [command, command] : [command]));
      const shuffled = doubled
        .map((command) => ({ command, at: die() }))
        .sort((a, b) => a.at - b.at)
        .map(({ command }, index): MessageSpec => ({ id: `${mixed}${index}`, body: command }));
      const half = shuffled.length === 0 ? 0 : die() % shuffled.length;
      await Promise.all([drain(shuffled.slice(0, half)), drain(shuffled.slice(half))]);
      await drain(shuffled);
      expect(await endOf(mixed)).toEqual(await endOf(inOrder));
    }),
    { numRuns: Number(process.env["RUNS"] ?? 8) },
  );
}, 120_000);

const ranks = ["put", "patch", "resume", "pause", "delete"];

function orderOf(command: object): string {
  const rank = ranks.findIndex((verb) => verb in command);
  return `${JSON.stringify(Reflect.get(command, "at"))} ${rank} ${String(Reflect.get(command, "id")).split(":")[1]}`;
}
