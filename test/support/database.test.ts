import postgres from "postgres";
import { expect, test } from "vitest";
import { testDatabase } from "./database.ts";

test("a test file's database has every migration applied and is its own", async () => {
  const [one, other] = await Promise.all([testDatabase(), testDatabase()]);
  const sql = postgres(one.url, { max: 1 });
  const [newest] = await sql`select max(number) as number from carillon.migrations`;
  expect(newest?.["number"]).toBeGreaterThan(0);
  expect(one.name).not.toBe(other.name);
  await sql.end();
  await Promise.all([one.drop(), other.drop()]);
});
