import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Problem } from "../../lib/api/request/problem.ts";
import { defaultRateFrom, makeRateLimit } from "../../lib/api/sign-in/rate-limit.ts";
import type { Clock } from "../../lib/clock.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { parseRate, type Rate } from "../../lib/job/rate.ts";
import { takeAllowance } from "../../lib/token/allowance.ts";
import type { PresentedToken } from "../../lib/token/token.ts";
import { type DatabaseClock, databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
let sql: Sql;
let clock: DatabaseClock;

const begin = new Date("2026-12-01T09:00:00Z");

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url });
  clock = await databaseClock(sql, begin);
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

function rateOf(text: string): Rate {
  const rate = parseRate(text);
  if (rate === null) throw new Error(`${text} is no rate.`);
  return rate;
}

async function newToken(rate: string | null): Promise<PresentedToken> {
  const [row] = await sql<{ id: string }[]>`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
    select id, sha256(id::text::bytea), id::text, 'read', carillon.clock(), 'test' from gen_random_uuid() id returning id`;
  return {
    id: row?.id ?? "",
    name: "t",
    scope: "read",
    prefix: null,
    team: null,
    expiresAt: null,
    isUseNoted: true,
    rate: rate === null ? null : rateOf(rate),
  };
}

/** A function's own limiter; several of them with one database act as several functions. */
function limitOf(local: Clock = clock, byDefault: Rate | null = null) {
  let taken = 0;
  const admit = makeRateLimit(
    (token, rate, wanted) => {
      taken += 1;
      return takeAllowance(sql, token, rate, wanted);
    },
    { clock: local, byDefault },
  );
  return {
    taken: () => taken,
    /** How many of the requests are admitted. */
    admit: async (token: PresentedToken, asked: number) => {
      let admitted = 0;
      for (let n = 0; n < asked; n++)
        admitted += await admit(token).then(
          () => 1,
          () => 0,
        );
      return admitted;
    },
    once: admit,
  };
}

describe("a token's rate", () => {
  test("a token's rate admits its number at once, and then evenly", async () => {
    const token = await newToken("20/s");
    const limit = limitOf();
    expect(await limit.admit(token, 100)).toBe(20);
    await clock.advance(49);
    expect(await limit.admit(token, 5)).toBe(0);
    await clock.advance(2);
    expect(await limit.admit(token, 5)).toBe(1);
    await clock.advance(10_000);
    expect(await limit.admit(token, 100)).toBe(20);
  });

  test.each([
    ["1/s", "1"],
    ["1/m", "60"],
    ["2/h", "1800"],
    ["1000/s", "1"],
  ])("a refusal by a used-up rate of %s says when to try again", async (rate, seconds) => {
    const token = await newToken(rate);
    const limit = limitOf();
    await limit.admit(token, rateOf(rate).count);
    const error = await limit.once(token).catch((thrown: unknown) => thrown);
    if (!(error instanceof Problem)) throw new Error("The request was admitted.");
    expect([error.kind, error.headers]).toEqual(["too-many", { "retry-after": seconds }]);
    await clock.advance(Number(seconds) * 1_000);
    await limit.once(token);
  });

  test("a token's rate costs few writes for many requests, and none while it is used up", async () => {
    const token = await newToken("1000/s");
    const limit = limitOf();
    expect(await limit.admit(token, 1_000)).toBe(1_000);
    expect(limit.taken()).toBeLessThan(20);
    await limit.admit(token, 1);
    const taken = limit.taken();
    expect(await limit.admit(token, 100)).toBe(0);
    expect(limit.taken()).toBe(taken);
  });

  test("without a rate the database is not queried", async () => {
    const limit = limitOf();
    expect(await limit.admit(await newToken(null), 1_000)).toBe(1_000);
    expect(limit.taken()).toBe(0);
  });

  test("the deployment's rate applies to a token without its own", async () => {
    const limit = limitOf(clock, rateOf("3/m"));
    expect(await limit.admit(await newToken(null), 10)).toBe(3);
    expect(await limit.admit(await newToken("5/m"), 10)).toBe(5);
  });

  test("a token's rate is one for all functions together, whatever their clocks say", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.record({ at: fc.integer({ min: 0, max: 3 }), asked: fc.integer({ min: 1, max: 20 }) }), {
          maxLength: 12,
        }),
        async (count, turns) => {
          const token = await newToken(`${count}/m`);
          const functions = [0, -5_000, 90_000, 7].map((off) =>
            limitOf({ now: () => new Date(clock.now().getTime() + off), sleep: async () => {} }),
          );
          const admitted = await Promise.all(
            turns.map(({ at, asked }) => functions[at]?.admit(token, asked) ?? 0),
          );
          expect(admitted.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(count);
        },
      ),
      { numRuns: 25 },
    );
  });
});

test("API_RATE is read, and an invalid one is refused", () => {
  expect(defaultRateFrom({})).toBeNull();
  expect(defaultRateFrom({ API_RATE: "100/s" })).toEqual({ count: 100, perMs: 1_000 });
  expect(() => defaultRateFrom({ API_RATE: "100" })).toThrow("API_RATE");
});
