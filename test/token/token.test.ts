import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { allows, ensureAdminToken, findToken, type Scope } from "../../lib/token/token.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url });
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

async function insertToken({
  bearer,
  scope,
  expires,
}: {
  bearer: string;
  scope: Scope;
  expires: string | null;
}) {
  const hash = createHash("sha256").update(bearer).digest();
  await sql`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by, expires_at)
    values (gen_random_uuid(), ${hash}, ${bearer}, ${scope}, carillon.clock(), 'test', carillon.clock() + ${expires}::interval)`;
}

describe("a token", () => {
  test("is found by what was handed out, and only its hash is stored", async () => {
    await ensureAdminToken(sql, "first-secret");
    expect(await findToken(sql, "first-secret")).toMatchObject({ name: "first", scope: "admin" });
    const [row] = await sql<
      { text: string }[]
    >`select t::text as text from carillon.tokens t where name = 'first'`;
    expect(row?.text).not.toContain("first-secret");
  });

  test.each([
    "",
    "first-secre",
    "first-secret ",
    "First-secret",
    "first-secret\u0000",
    "x".repeat(5_000),
    "' or true --",
  ])("is not found by %j", async (bearer) => {
    await ensureAdminToken(sql, "first-secret");
    expect(await findToken(sql, bearer)).toBeNull();
  });

  test("is not found once its time is over", async () => {
    await insertToken({ bearer: "over", scope: "write", expires: "-1 second" });
    await insertToken({ bearer: "not-over", scope: "write", expires: "1 hour" });
    expect(await findToken(sql, "over")).toBeNull();
    expect(await findToken(sql, "not-over")).toMatchObject({ scope: "write" });
  });

  test("allows its scope and what lies below", () => {
    const scopes: Scope[] = ["read", "write", "admin"];
    const allowed = scopes.map((scope) =>
      scopes.filter((needed) => allows({ id: "", name: "", scope, prefix: null }, needed)),
    );
    expect(allowed).toEqual([["read"], ["read", "write"], ["read", "write", "admin"]]);
  });
});

describe("the first admin token", () => {
  test("made twice, also at once, is one token, and replaces no other", async () => {
    await ensureAdminToken(sql, "one");
    const [before] = await sql<{ count: number }[]>`select count(*)::int from carillon.tokens`;
    await Promise.all(["two", "two", "two", "one"].map((bearer) => ensureAdminToken(sql, bearer)));
    const [after] = await sql<{ count: number }[]>`select count(*)::int from carillon.tokens`;
    expect(after?.count).toBe((before?.count ?? 0) + 1);
    expect(await findToken(sql, "one")).not.toBeNull();
  });

  test.each(["", "two words", "línea", "a\nb"])(
    "that no header could carry is refused: %j",
    async (bearer) => {
      await expect(ensureAdminToken(sql, bearer)).rejects.toThrow("printable ASCII");
    },
  );
});
