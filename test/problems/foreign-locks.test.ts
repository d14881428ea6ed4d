import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { readProblems } from "../../lib/problems/read-problems.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

/** A login of another program takes this lock, and keeps it until the test ends. */
async function keepsLock(user: string, lockClass: number): Promise<number> {
  await world.sql.unsafe(`create role ${user} login password 'test'`);
  const url = new URL(world.databaseUrl);
  url.username = user;
  url.password = "test";
  const sql = postgres(url.href, { max: 1 });
  onTestFinished(() => sql.end());
  const [row] = await sql<{ pid: number }[]>`
    select pg_backend_pid() as pid, pg_advisory_lock(${lockClass}::int, 3)::text`;
  return row?.pid ?? 0;
}

test("Problems name the session of another program that holds a lock of Carillon, to callers of all keys only", async () => {
  const user = `app_${randomBytes(6).toString("hex")}`;
  const pid = await keepsLock(user, 7);
  const { verdict, problems } = await readProblems(world.as.api, null);
  expect({ verdict, problems }).toMatchObject({
    verdict: "on-time",
    problems: [
      {
        kind: "foreign-locks",
        since: expect.any(Date),
        count: { count: 1, more: false },
        text: `1 session of another program holds advisory locks of Carillon, which waits for them: process ${pid} of ${user}, commands (7).`,
        command: "carillon status",
      },
    ],
  });
  expect((await readProblems(world.as.api, "team:")).problems).toEqual([]);
});
