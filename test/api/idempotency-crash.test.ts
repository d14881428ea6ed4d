import { describe, expect, test } from "vitest";
import type { Moment, Operation } from "../crash/fuse.ts";
import { someMoments, triesAllMoments } from "../support/some-moments.ts";
import { arriving } from "./arriving.ts";
import { type Answered, type Asked, type KeyedWorld, keyedWorld } from "./idempotency-world.ts";

interface Scenario {
  name: string;
  /** A run tries one moment out of this many. */
  oneOf: number;
  prepare(world: KeyedWorld): Promise<void>;
  asked: Asked;
}

const target = { queue: "demo" };
const hourly = { when: "every 1h", target };

const put = (world: KeyedWorld, key: string, body: object = {}) =>
  world.send({ method: "PUT", path: `/v1/schedules/${key}`, body: { ...hourly, ...body } });

/** Changes jobs as if all attempts had failed. */
async function makeDead(world: KeyedWorld, count: number): Promise<void> {
  await put(world, "dying");
  for (let fired = 0; fired < count; fired++)
    await world.send({ method: "POST", path: "/v1/schedules/dying/fire" });
  await world.sql`
    with dead as (
      update carillon.jobs set state = 'dead', reason = 'attempts', parcel_id = null, attempt = 1, started_at = due_at, finished_at = due_at, error = 'no'
      returning occurrence, schedule_id, kind, n, finished_at
    ), listed as (
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at) select * from dead
    ) delete from carillon.parcels`;
}

const nothing = async () => {};

const arrival = "/v1/arrivals/0199f3c2-6f0e-7cc1-9d0f-6a8f5e1b2c3d";

/** A move to here, and a schedule that has the key of one that comes. */
async function beginArrival(world: KeyedWorld): Promise<void> {
  await put(world, "m:1");
  const body = { prefix: "m:", from: "https://old.example" };
  await world.send({ method: "PUT", path: arrival, body });
}

const scenarios: readonly Scenario[] = [
  {
    name: "a schedule is created under a made key",
    oneOf: 30,
    prepare: nothing,
    asked: { method: "POST", path: "/v1/schedules", body: { when: "in 5s", target } },
  },
  {
    name: "a relative schedule is put again",
    oneOf: 40,
    prepare: async (world) => void (await put(world, "counted", { when: "in 1h" })),
    asked: { method: "PUT", path: "/v1/schedules/counted", body: { when: "in 5s", target } },
  },
  {
    name: "a schedule is deleted",
    oneOf: 30,
    prepare: async (world) => void (await put(world, "doomed")),
    asked: { method: "DELETE", path: "/v1/schedules/doomed" },
  },
  {
    name: "a schedule of one version is changed",
    oneOf: 40,
    prepare: async (world) => void (await put(world, "guarded")),
    asked: {
      method: "PATCH",
      path: "/v1/schedules/guarded",
      body: { payload: 1 },
      headers: { "if-match": '"1"' },
    },
  },
  {
    name: "a schedule is fired",
    oneOf: 20,
    prepare: async (world) => void (await put(world, "fired")),
    asked: { method: "POST", path: "/v1/schedules/fired/fire", body: { payload: { a: 1 } } },
  },
  {
    name: "a job is enqueued",
    oneOf: 30,
    prepare: (world) => world.tick(),
    asked: { method: "POST", path: "/v1/jobs", body: { target, payload: 1 } },
  },
  {
    name: "a schedule is backfilled",
    oneOf: 30,
    prepare: async (world) => {
      await put(world, "past", { catchUp: { policy: "skip" } });
      await world.clock.advance(10 * 3_600_000);
      await world.sql`update carillon.shards set watermark_at = carillon.clock(), reached_at = carillon.clock()`;
    },
    asked: {
      method: "POST",
      path: "/v1/schedules/past/backfill",
      body: { from: "2026-03-02T11:00:00Z", to: "2026-03-02T18:00:00Z" },
    },
  },
  {
    name: "a batch is applied",
    oneOf: 40,
    prepare: async (world) => void (await put(world, "old")),
    asked: {
      method: "POST",
      path: "/v1/schedules:batch",
      body: {
        operations: [
          { put: { key: "a", when: "in 5s", target } },
          { delete: "old" },
          { delete: "nobody" },
          { put: { key: "b", ...hourly } },
        ],
      },
    },
  },
  {
    name: "dead jobs are tried again",
    oneOf: 20,
    prepare: (world) => makeDead(world, 3),
    asked: { method: "POST", path: "/v1/jobs:retry", body: { filter: { state: "dead" }, limit: 3 } },
  },
  {
    name: "a group in several shards is put on hold",
    oneOf: 60,
    prepare: async (world) => {
      for (const key of ["a", "b", "c"]) await put(world, key, { group: "g" });
    },
    asked: { method: "POST", path: "/v1/groups/g/pause", body: { reason: "why" } },
  },
  {
    name: "the schedules of a group in several shards are deleted",
    oneOf: 60,
    prepare: async (world) => {
      for (const key of ["a", "b", "c"]) await put(world, key, { group: "g" });
    },
    asked: { method: "POST", path: "/v1/groups/g/cancel", body: {} },
  },
  {
    name: "a calendar is changed that schedules refer to",
    oneOf: 60,
    prepare: async (world) => {
      await world.send({ method: "PUT", path: "/v1/calendars/c", body: { dates: ["2026-03-05"] } });
      for (const key of ["a", "b"]) await put(world, key, { when: "0 9 * * *", calendar: { name: "c" } });
    },
    asked: { method: "PUT", path: "/v1/calendars/c", body: { dates: ["2026-03-06"] } },
  },
  {
    name: "schedules of a move arrive, and one is refused",
    oneOf: 40,
    prepare: beginArrival,
    asked: {
      method: "POST",
      path: `${arrival}/steps`,
      body: { step: "bring", parts: ["1", "2", "3"].map((id) => arriving(id, `m:${id}`)) },
    },
  },
  {
    name: "schedules of a move arrive, and Carillon fails on one",
    oneOf: 80,
    prepare: async (world) => {
      await beginArrival(world);
      await world.sql`alter table carillon.schedules add check (length(created_by) < 5000)`;
    },
    asked: {
      method: "POST",
      path: `${arrival}/steps`,
      body: {
        step: "bring",
        parts: ["1", "2", "3"].map((id) => arriving(id, `m:${id}`, id === "2" ? "x".repeat(5_000) : "ann")),
      },
    },
  },
  {
    name: "limits are cleared",
    oneOf: 20,
    prepare: async (world) =>
      void (await world.send({ method: "PUT", path: "/v1/limits/queue/demo", body: { concurrency: 3 } })),
    asked: { method: "DELETE", path: "/v1/limits/queue/demo" },
  },
  {
    name: "a token is made",
    oneOf: 20,
    prepare: nothing,
    asked: { method: "POST", path: "/v1/tokens", body: { name: "team", scope: "write" } },
  },
];

/** All rows that would differ if the change were carried out twice. */
async function storedRows({ sql }: KeyedWorld): Promise<unknown> {
  const [row] = await sql`
    select
      (select json_agg(json_build_array(s.tags, s.group_key, s.version, s.held_since is not null, s.deleted_at is not null) order by s.id) from carillon.schedules s) as schedules,
      (select json_agg(json_build_array(v.version, v.change) order by v.schedule_id, v.version) from carillon.schedule_versions v) as versions,
      (select json_agg(json_build_array(j.kind, j.n, j.state, j.due_at, j.payload) order by j.schedule_id, j.occurrence, j.kind, j.n) from carillon.jobs j) as jobs,
      (select json_agg(json_build_array(a.action, a.version) order by a.action, a.schedule_id, a.version) from carillon.audit a) as audit,
      (select count(*)::int from carillon.parcels) as parcels,
      (select json_agg(cardinality(b.occurrences)) from carillon.backlog b) as backlog,
      (select count(*)::int from carillon.plan) + (select count(*)::int from carillon.plan_far) as plan,
      (select count(*)::int from carillon.dead_jobs) as dead,
      (select json_agg(json_build_array(t.name, t.scope) order by t.name) from carillon.tokens t) as tokens,
      (select json_agg(json_build_array(t.name, t.concurrency, t.revision) order by t.name) from carillon.targets t) as targets`;
  return row;
}

const keyed = (asked: Asked): Asked => ({
  ...asked,
  headers: { ...asked.headers, "idempotency-key": "the-one" },
});

interface Told {
  answer: Answered;
  rows: unknown;
  operations: readonly Operation[];
}

/** The result without a crash. */
async function told(scenario: Scenario): Promise<Told> {
  const world = await keyedWorld();
  await scenario.prepare(world);
  const answer = await world.sendToDoomed(keyed(scenario.asked));
  if (answer === null) throw new Error("The process died although no crash was planned.");
  const rows = await storedRows(world);
  const { operations } = world.fuse;
  await world.close();
  return { answer, rows, operations };
}

/** The moments just before each operation, and just after each one that is a commit of its own. */
function momentsOf(operations: readonly Operation[]): Moment[] {
  return operations.flatMap((operation): Moment[] => [
    { ...operation, side: "before" },
    ...(operation.lasts ? [{ ...operation, side: "after" } as const] : []),
  ]);
}

/** Moments after a commit that the caller does not know of; these are tried in every run. */
function isDecisive({ label, side }: Moment): boolean {
  return (
    (side === "after" && / commit\b/.test(label)) || (side === "before" && label.includes("with kept as"))
  );
}

const triesMax = 5;

/** Retries with the same key while the API asks for it, as a client does. */
async function again(world: KeyedWorld, asked: Asked): Promise<Answered | null> {
  for (let tried = 0; tried < triesMax; tried++) {
    const answer = await world.send(asked);
    const after = answer?.headers["retry-after"];
    if (answer === null || after === undefined) return answer;
    expect(answer.status).toBe(409);
    await world.clock.advance(Number(after) * 1_000);
  }
  return null;
}

/** Ids, keys and secrets are random, and the retry may come seconds later. */
function withoutChance(json: unknown): unknown {
  return JSON.parse(
    timeless(
      JSON.stringify(json ?? null, (name, value: unknown) =>
        typeof value === "string" && /^(id|key|job|scheduleId|token|revision|entry)$/.test(name)
          ? "made"
          : value,
      ),
    ),
  );
}

function timeless(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\d(T[\d:.]+)?/g, "then");
}

async function dieAt(scenario: Scenario, moment: Moment, whole: Told): Promise<string[]> {
  const world = await keyedWorld(moment);
  await scenario.prepare(world);
  const asked = keyed(scenario.asked);
  const first = await world.sendToDoomed(asked);
  if (!world.fuse.isBlown()) return ["the moment never came"];
  const answer = first ?? (await again(world, asked));
  const faults: string[] = [];
  const differs = (what: string, found: unknown, wanted: unknown) => {
    try {
      expect(found).toEqual(wanted);
    } catch (error) {
      faults.push(`${what}: ${error instanceof Error ? error.message : error}`);
    }
  };
  differs("status", answer?.status, whole.answer.status);
  differs("answer", withoutChance(answer?.json), withoutChance(whole.answer.json));
  const repeated = await world.send(asked);
  differs("the same once more", repeated?.json, answer?.json);
  differs("stored rows", withoutChance(await storedRows(world)), withoutChance(whole.rows));
  const [{ count } = { count: 0 }] = await world.sql<{ count: number }[]>`
    select count(*)::int as count from carillon.idempotency_steps`;
  differs("steps that are left", count, 0);
  await world.close();
  return faults;
}

const atOnce = 4;

describe.each(scenarios)("$name, and the process dies", (scenario) => {
  test(
    "After a crash at any moment, a retry completes the request once, with the answer of a run without a crash",
    async () => {
      const whole = await told(scenario);
      expect(whole.answer.status, JSON.stringify(whole.answer.json)).toBeLessThan(300);
      const all = momentsOf(whole.operations);
      const { tried, told: how } = someMoments(all, scenario.oneOf, isDecisive);
      expect(tried.filter(isDecisive).length).toBeGreaterThanOrEqual(2);
      const waiting = tried.values();
      const broken: string[] = [];
      const lane = async () => {
        for (const moment of waiting) {
          const found = await dieAt(scenario, moment, whole);
          broken.push(...found.map((each) => `${moment.side} ${moment.label} (${moment.nth}): ${each}`));
        }
      };
      await Promise.all(Array.from({ length: atOnce }, lane));
      expect(broken, how).toEqual([]);
    },
    triesAllMoments ? 600_000 : 60_000,
  );
});
