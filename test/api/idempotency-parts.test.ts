import { expect, test } from "vitest";
import type { Moment } from "../crash/fuse.ts";
import { at, second } from "../support/instants.ts";
import { type Asked, type KeyedWorld, keyedWorld } from "./idempotency-world.ts";

const target = { queue: "demo" };
const keys = Array.from({ length: 120 }, (_, n) => `key:${n}`);

const batch = (operations: readonly object[], key?: string): Asked => ({
  method: "POST",
  path: "/v1/schedules:batch",
  body: { operations },
  headers: key === undefined ? {} : { "idempotency-key": key },
});

interface Scenario {
  name: string;
  /** How many of the moments just after a commit are tried, beginning with the first. */
  moments: number;
  prepare(world: KeyedWorld): Promise<void>;
  operations: readonly object[];
}

const scenarios: readonly Scenario[] = [
  {
    name: "is too much for one transaction",
    moments: 2,
    prepare: async (world) => {
      await world.send(batch(keys.map((key) => ({ put: { key, when: "every 1h", target } }))));
    },
    operations: keys.map((key) => ({ patch: { key, overlap: "skip" } })),
  },
  {
    name: "replaces too many jobs for one transaction",
    moments: 3,
    prepare: async (world) => {
      await world.tick();
      const dense = { when: "every 1s", startsAt: at(second).toISOString(), target };
      await world.send(batch(keys.slice(0, 30).map((key) => ({ put: { key, ...dense } }))));
    },
    // The deleted schedules are not found again: the parts have the order of the first attempt.
    operations: keys
      .slice(0, 30)
      .map((key, n) =>
        n % 2 === 0 ? { delete: key } : { patch: { key, startsAt: at(second + 1).toISOString() } },
      ),
  },
  {
    name: "has an operation on which Carillon fails",
    moments: 5,
    prepare: async (world) => {
      await world.sql.unsafe(`
        create function carillon.break_keys() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
        create trigger break_keys before insert on carillon.schedules for each row when (new.key = 'bad')
          execute function carillon.break_keys()`);
    },
    operations: ["a", "b", "bad", "c", "d"].map((key) => ({ put: { key, when: "in 3h", target } })),
  },
];

interface Ended {
  results: unknown;
  versions: number;
  moments: Moment[];
}

async function work({ prepare, operations }: Scenario, moment?: Moment): Promise<Ended> {
  const world = await keyedWorld(moment);
  await prepare(world);
  const asked = batch(operations, "the-one");
  let answer = await world.sendToDoomed(asked);
  while (answer === null || answer.status === 409) {
    await world.clock.advance(36_000);
    answer = await world.send(asked);
  }
  const [row] = await world.sql<{ n: number }[]>`select count(*)::int as n from carillon.schedule_versions`;
  const moments = world.fuse.operations
    .filter(({ label, lasts }) => lasts && / commit\b/.test(label))
    .map((operation): Moment => ({ ...operation, side: "after" }));
  await world.close();
  return { results: answer.json, versions: row?.n ?? 0, moments };
}

test.each(scenarios)(
  "A retry of a batch that $name completes it after a crash, with the answer of a run without a crash",
  async (scenario) => {
    const whole = await work(scenario);
    expect(whole.moments.length).toBeGreaterThanOrEqual(scenario.moments);
    for (const moment of whole.moments.slice(0, scenario.moments)) {
      const { results, versions } = await work(scenario, moment);
      const when = `${moment.side} ${moment.label} (${moment.nth})`;
      expect(withoutRequest(results), when).toEqual(withoutRequest(whole.results));
      expect(versions, when).toBe(whole.versions);
    }
  },
);

const withoutRequest = (json: unknown): unknown =>
  JSON.parse(
    JSON.stringify(json, (name, value: unknown) => (/^(id|requestId)$/.test(name) ? "made" : value)),
  );
