import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Problem } from "../../lib/api/request/problem.ts";
import { deploymentRatesFrom, makeRateLimit } from "../../lib/api/sign-in/rate-limit.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Environment } from "../../lib/config/environment.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { parseRate, type Rate } from "../../lib/job/rate.ts";
import { type Bucket, giveBackUnits, takeUnits } from "../../lib/token/rate-buckets.ts";
import type { PresentedToken } from "../../lib/token/token.ts";
import { type DatabaseClock, databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
let sql: Sql;
let clock: DatabaseClock;

const begin = new Date("2026-12-01T09:00:00Z");

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url }, { max: 8 });
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

async function newToken(
  rate: string | null,
  { above = [], team = null }: { above?: PresentedToken["rates"]; team?: string | null } = {},
): Promise<PresentedToken> {
  const [row] = await sql<{ id: string }[]>`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
    select id, sha256(id::text::bytea), id::text, 'read', carillon.clock(), 'test' from gen_random_uuid() id returning id`;
  const id = row?.id ?? "";
  return {
    id,
    name: "t",
    scope: "read",
    prefix: null,
    team,
    expiresAt: null,
    isUseNoted: true,
    rates: [...above, { bucket: id, rate: rate === null ? null : rateOf(rate) }],
  };
}

/** A function's own limiter; several of them with one database act as several functions. */
function limitOf(local: Clock = clock, env: Environment = {}) {
  let taken = 0;
  const counted =
    <Given extends unknown[], Done>(
      act: (tx: Sql, buckets: readonly Bucket[], ...given: Given) => Promise<Done>,
    ) =>
    (buckets: readonly Bucket[], ...given: Given) => {
      taken += 1;
      return act(sql, buckets, ...given);
    };
  const admit = makeRateLimit(
    { take: counted(takeUnits), giveBack: counted(giveBackUnits) },
    { clock: local, rates: deploymentRatesFrom(env) },
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
    /** Whether work of this cost is admitted. A rate in debt refuses it with its first unit already. */
    work: async (token: PresentedToken, units: number) =>
      admit(token)
        .then((charge) => charge.take(units - 1))
        .then(
          () => true,
          () => false,
        ),
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
    const limit = limitOf(clock, { API_RATE: "3/m" });
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

describe("the cost of work", () => {
  test("work above the rate is admitted once, and the wait after it is true", async () => {
    const token = await newToken("100/s");
    const limit = limitOf();
    expect(await limit.work(token, 1_000)).toBe(true);
    await expect(limit.once(token)).rejects.toMatchObject({ headers: { "retry-after": "10" } });
    // The bucket owes 900 units, and then needs one more.
    await clock.advance(9_000);
    await expect(limit.once(token)).rejects.toMatchObject({ headers: { "retry-after": "1" } });
    await clock.advance(11);
    await limit.once(token);
  });

  test("of two works above the rate at once, at two functions, one is admitted", async () => {
    const token = await newToken("100/h");
    const functions = [limitOf(), limitOf()];
    const admitted = await Promise.all(functions.map((limit) => limit.work(token, 1_000)));
    expect(admitted.toSorted()).toEqual([false, true]);
  });

  test("units that a function took in advance pay for its work, without another query", async () => {
    const token = await newToken("100/h");
    const limit = limitOf();
    // Shares of 1, 2 and 4, of which three are left.
    await limit.admit(token, 4);
    const taken = limit.taken();
    expect(await limit.work(token, 3)).toBe(true);
    expect(limit.taken()).toBe(taken);
    expect(await limitOf().admit(token, 200)).toBe(93);
  });

  test("units that are given back can be used again, also at a function that was refused", async () => {
    const token = await newToken("10/h");
    const [one, other] = [limitOf(), limitOf()];
    const charge = await one.once(token);
    await charge.take(999);
    expect(await other.admit(token, 1)).toBe(0);
    await charge.giveBack(995);
    expect(await one.admit(token, 100)).toBe(5);
    await clock.advance(1_000);
    await charge.giveBack(1);
    expect(await other.admit(token, 100)).toBe(1);
  });

  test("no more is given back than the bucket holds", async () => {
    const token = await newToken("10/s");
    const charge = await limitOf().once(token);
    await charge.take(999);
    await clock.advance(60_000);
    await charge.giveBack(999);
    expect(await limitOf().admit(token, 100)).toBe(10);
  });

  test("whatever is charged and given back, in any order, a rate is exceeded by one work at most", async () => {
    const work = fc.record({
      at: fc.integer({ min: 0, max: 2 }),
      units: fc.integer({ min: 1, max: 30 }),
      pauseMs: fc.integer({ min: 0, max: 3_000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 19 }),
        fc.array(work, { maxLength: 10 }),
        async (count, works) => {
          const token = await newToken(`${count}/s`);
          const functions = [limitOf(), limitOf(), limitOf()];
          const begun = clock.now().getTime();
          let spent = 0;
          for (const { at, units, pauseMs } of works) {
            await clock.advance(pauseMs);
            const allowed = count + ((clock.now().getTime() - begun) * count) / 1_000;
            const isAdmitted = await functions[at]?.work(token, units).catch(() => false);
            if (isAdmitted !== true) continue;
            expect(spent).toBeLessThan(allowed);
            spent += units;
          }
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("buckets of several tokens", () => {
  test("a token with a rate within another's takes from both, and the lower one decides", async () => {
    const parent = await newToken("10/h");
    const child = await newToken("4/h", { above: parent.rates });
    const limit = limitOf();
    expect(await limit.admit(child, 100)).toBe(4);
    expect(await limit.admit(parent, 100)).toBe(6);
  });

  test("a hundred tokens within one, at many functions at once, have its rate together", async () => {
    const parent = await newToken("30/h");
    const children = await Promise.all(
      Array.from({ length: 100 }, () => newToken("30/h", { above: parent.rates })),
    );
    const functions = [limitOf(), limitOf(), limitOf()];
    const admitted = await Promise.all(
      children.map((child, index) => functions[index % 3]?.admit(child, 1) ?? 0),
    );
    expect(admitted.reduce((sum, each) => sum + each, 0)).toBe(30);
  });

  test("a refusal by one bucket takes nothing from the others", async () => {
    const parent = await newToken("2/h");
    const child = await newToken("50/h", { above: parent.rates });
    const limit = limitOf();
    expect(await limit.admit(child, 10)).toBe(2);
    const [row] = await sql<{ used: number }[]>`
      select used from carillon.rate_buckets where id = ${`token ${child.id}`}`;
    expect(row?.used).toBe(2);
    await expect(limit.once(child)).rejects.toThrow("that the token shares with the token that made it");
  });

  test("tokens of one team share the rate of its prefix, and tokens of all keys have none", async () => {
    const env = { API_RATE_PER_PREFIX: "6/h\nbig:=20/h" };
    const limit = limitOf(clock, env);
    const [one, two] = [await newToken(null, { team: "t:" }), await newToken("5/h", { team: "t:" })];
    expect(await limit.admit(one, 4)).toBe(4);
    expect(await limit.admit(two, 100)).toBe(2);
    await expect(limit.once(two)).rejects.toThrow("of all tokens of the same prefix together");
    expect(await limit.admit(await newToken(null, { team: "big:" }), 100)).toBe(20);
    expect(await limit.admit(await newToken(null), 100)).toBe(100);
  });
});
