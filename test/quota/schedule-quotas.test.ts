import { afterAll, beforeAll, expect, test } from "vitest";
import { type Issued, withToken } from "../api/issued-token.ts";
import { putOf, type QuotaWorld, quotaWorld } from "./quota-world.ts";

let world: QuotaWorld;
beforeAll(async () => {
  world = await quotaWorld();
});
afterAll(() => world.api.stop());

let next = 0;
/** A prefix of its own with a token and these quotas. */
async function teamWith(...quotas: string[]): Promise<{ prefix: string; by: Issued }> {
  next += 1;
  const prefix = `t${next}:`;
  await world.define(...quotas.map((each) => `${prefix}=${each}`));
  return { prefix, by: await world.team(prefix) };
}

const problem = (json: unknown) => Object(json) as { type: string; detail: string; errors: object[] };

test("A schedule beyond the quota of its prefix is refused with what is used and allowed, by whatever token", async () => {
  const { prefix, by } = await teamWith("schedules=2");
  expect((await world.put(`${prefix}a`, {}, by)).status).toBe(201);
  expect((await world.put(`${prefix}b`)).status).toBe(201);
  for (const token of [by, undefined]) {
    const refused = await world.put(`${prefix}c`, {}, token);
    expect(refused.status).toBe(422);
    expect(problem(refused.json)).toMatchObject({
      type: "urn:carillon:problem:quota",
      errors: [{ path: "", message: "schedules: has 2, would have 3, may have 2" }],
    });
    expect(problem(refused.json).detail).toContain(`the prefix "${prefix}"`);
    expect(problem(refused.json).detail).toContain("`quotas`");
  }
  expect((await world.put("elsewhere:a")).status).toBe(201);
  expect((await world.put(`${prefix}a`, { description: "changed" }, by)).status).toBe(200);
  expect((await world.remove(`${prefix}b`, by)).status).toBe(204);
  expect((await world.put(`${prefix}c`, {}, by)).status).toBe(201);
});

test("A bomb of schedules that run each second is refused with the number of fires that it would make", async () => {
  const { prefix, by } = await teamWith("firesPerMinute=120");
  const bomb = Array.from({ length: 100 }, (_, n) => putOf(`${prefix}${n}`, { when: "every 1s" }));
  const { json } = await world.batch(bomb, by);
  const results = (Object(json) as { results: { status: number; error?: object }[] }).results;
  expect(results.filter(({ status }) => status === 201)).toHaveLength(2);
  expect(results.filter(({ status }) => status === 422)).toHaveLength(98);
  expect(results.at(-1)?.error).toMatchObject({
    errors: [{ path: "put", message: "firesPerMinute: has 120, would have 180, may have 120" }],
  });
  // A single time fires once, and a slower cadence takes less.
  expect((await world.put(`${prefix}once`, { when: "in 3h" }, by)).status).toBe(201);
  expect((await world.put(`${prefix}0`, { when: "every 1m" }, by)).status).toBe(200);
  expect((await world.put(`${prefix}1`, { when: "*/2 * * * * *" }, by)).status).toBe(200);
  expect((await world.put(`${prefix}more`, { when: "* * * * *" }, by)).status).toBe(201);
});

const begin = "2030-06-01T09:00:00Z";

test.each<[string, object]>([
  ["a cron of one day", { when: "* 45-46 19 30 11 *" }],
  ["a list of crons of one day", { when: ["0-29 45 19 30 11 *", "30-59 45 19 30 11 *"] }],
  ["a window", { when: "every 1s", startsAt: begin, endsAt: "2030-06-01T09:02:00Z" }],
  [
    "a pulse in a window",
    { when: "every 1s", startsAt: begin, endsAt: "2030-06-01T09:02:00Z", delivery: "pulse" },
  ],
  ["few fires", { when: "every 1s", maxFires: 120 }],
])(
  "Schedules that run each second for a minute or two are refused with the fires of that minute: %s",
  async (_name, each) => {
    const { prefix, by } = await teamWith("firesPerMinute=120");
    const bomb = ["a", "b", "c"].map((name) => putOf(`${prefix}${name}`, each));
    expect((await world.batch(bomb, by)).json).toMatchObject({
      results: [
        { status: 201 },
        { status: 201 },
        {
          status: 422,
          error: {
            type: "urn:carillon:problem:quota",
            errors: [{ message: "firesPerMinute: has 120, would have 180, may have 120" }],
          },
        },
      ],
    });
    const { json } = await world.api.send("GET", "/v1/quotas", withToken(by));
    expect(json).toMatchObject({ items: [{ firesPerMinute: { used: 120, allowed: 120 } }] });
    expect(await world.noted()).toEqual(await world.counted());
  },
);

test("Many schedules at one moment of the day take little of the quota of fires", async () => {
  const { prefix, by } = await teamWith("firesPerMinute=1");
  const daily = Array.from({ length: 500 }, (_, n) => putOf(`${prefix}${n}`, { when: "0 9 * * *" }));
  expect((await world.batch(daily, by)).status).toBe(200);
  expect((await world.counted())[prefix]?.schedules).toBe(500);
});

test("A slot counts the occurrences that it makes due at one moment, and a patch that takes it off frees them", async () => {
  const { prefix, by } = await teamWith("firesPerMinute=60");
  const each = { when: "* 9 1 1 *", slot: "1h" };
  expect((await world.put(`${prefix}a`, each, by)).status).toBe(201);
  const refused = await world.put(`${prefix}b`, each, by);
  expect(problem(refused.json).errors).toMatchObject([
    { message: "firesPerMinute: has 60, would have 120, may have 60" },
  ]);
  expect(await world.noted()).toEqual(await world.counted());
  const patch = { body: { slot: null }, ...withToken(by) };
  expect((await world.api.send("PATCH", `/v1/schedules/${prefix}a`, patch)).status).toBe(200);
  expect(await world.noted()).toEqual(await world.counted());
  expect((await world.put(`${prefix}b`, { ...each, slot: "30m" }, by)).status).toBe(201);
  expect((await world.remove(`${prefix}b`, by)).status).toBe(204);
  expect((await world.put(`${prefix}b`, { when: "* 9 1 1 *" }, by)).status).toBe(201);
  expect(await world.noted()).toEqual(await world.counted());
});

test("Payloads count in bytes as JSON, also those that a patch changes", async () => {
  const { prefix, by } = await teamWith("payloadBytes=100");
  expect((await world.put(`${prefix}a`, { payload: "x".repeat(58) }, by)).status).toBe(201);
  expect((await world.put(`${prefix}b`, { payload: "x".repeat(39) }, by)).status).toBe(422);
  expect((await world.put(`${prefix}b`, { payload: "x".repeat(38) }, by)).status).toBe(201);
  const patch = (payload: string) =>
    world.api.send("PATCH", `/v1/schedules/${prefix}a`, { body: { payload } });
  expect((await patch("x".repeat(59))).status).toBe(422);
  expect((await patch("short")).status).toBe(200);
  expect((await patch("x".repeat(58))).status).toBe(200);
});

test("A quota of a prefix counts the schedules of longer prefixes, and a longer prefix may have its own", async () => {
  const outer = "outer:";
  const inner = "outer:inner:";
  await world.define(`${outer}=schedules=3`, `${inner}=schedules=1`);
  expect((await world.put(`${inner}a`)).status).toBe(201);
  expect(problem((await world.put(`${inner}b`)).json).detail).toContain(`"${inner}"`);
  expect((await world.put(`${outer}a`)).status).toBe(201);
  expect((await world.put(`${outer}b`)).status).toBe(201);
  expect(problem((await world.put(`${outer}c`)).json).detail).toContain(`"${outer}"`);
  expect((await world.remove(`${inner}a`)).status).toBe(204);
  expect((await world.put(`${outer}c`)).status).toBe(201);
  expect(problem((await world.put(`${inner}a`)).json).detail).toContain(`"${outer}"`);
});

test("Operations of one batch use the room that earlier ones leave", async () => {
  const { prefix, by } = await teamWith("schedules=2");
  const operations = ["a", "b", "c"].map((name) => putOf(`${prefix}${name}`));
  const first = await world.batch(
    [...operations, { delete: { key: `${prefix}a` } }, putOf(`${prefix}d`)],
    by,
  );
  expect(first.json).toMatchObject({
    results: [{ status: 201 }, { status: 201 }, { status: 422 }, { status: 204 }, { status: 422 }],
  });
  const second = await world.batch([{ delete: { key: `${prefix}b` } }, operations[2] ?? {}], by);
  expect(second.json).toMatchObject({ results: [{ status: 204 }, { status: 201 }] });
});

test("The first edit of a new prefix is checked by the limits of every prefix", async () => {
  await world.define("schedules=3");
  const by = await world.team("new:");
  expect((await world.put("new:a", {}, by)).status).toBe(201);
  const { json } = await world.batch(
    ["b", "c", "d"].map((name) => putOf(`new:${name}`)),
    by,
  );
  expect(json).toMatchObject({ results: [{ status: 201 }, { status: 201 }, { status: 422 }] });
  const other = await world.team("newer:");
  const first = await world.batch(
    ["a", "b", "c", "d"].map((name) => putOf(`newer:${name}`)),
    other,
  );
  expect(first.json).toMatchObject({ results: [201, 201, 201, 422].map((status) => ({ status })) });
});

test("Edits of every size make exactly as many schedules as the quota allows", async () => {
  const { prefix, by } = await teamWith("schedules=25");
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, at) =>
      at % 2 === 0
        ? world.batch(
            Array.from({ length: 8 }, (_, n) => putOf(`${prefix}${at}-${n}`)),
            by,
          )
        : world.put(`${prefix}${at}`, {}, by),
    ),
  );
  expect(answers.every(({ status }) => [200, 201, 207, 422].includes(status))).toBe(true);
  const counted = await world.counted();
  expect(counted[prefix]?.schedules).toBe(25);
});

test("The noted usage equals that of the schedules after every kind of edit", async () => {
  const { prefix, by } = await teamWith("schedules=1000");
  await world.batch(
    Array.from({ length: 20 }, (_, n) =>
      putOf(`${prefix}${n}`, { when: n % 2 === 0 ? "0 9 * * MON" : "every 90s", payload: n }),
    ),
    by,
  );
  await world.put(`${prefix}0`, { when: "in 2h" }, by);
  await world.api.send("PATCH", `/v1/schedules/${prefix}1`, { body: { when: "0 0 1 * *", payload: null } });
  await world.api.send("POST", `/v1/schedules/${prefix}2/pause`, { body: {} });
  await world.remove(`${prefix}3`, by);
  await world.put(`${prefix}3`, { payload: { a: [1, 2] } }, by);
  await world.batch(
    [4, 5, 6, 7].flatMap((n) => [
      putOf(`${prefix}${n}`, { when: "every 5m", payload: "first" }),
      putOf(`${prefix}${n}`, { when: "every 10m", payload: "second-one" }),
    ]),
    by,
  );
  await world.api.send("POST", "/v1/schedules:delete", { body: { filter: { prefix: `${prefix}1` } } });
  await world.api.send("POST", `/v1/schedules/${prefix}0/restore`, { body: { version: 1 } });
  expect(await world.noted()).toEqual(await world.counted());
});
