import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { connectAsMember } from "../support/role-logins.ts";

let database: TestDatabase;
let owner: Sql;
let roles: Record<"ingest" | "handler" | "worker" | "tick", Sql>;

beforeAll(async () => {
  database = await testDatabase();
  owner = connect({ DATABASE_URL: database.url });
  roles = {
    ingest: await connectAsMember(owner, database.url, "carillon_ingest", 1),
    handler: await connectAsMember(owner, database.url, "carillon_handler", 1),
    worker: await connectAsMember(owner, database.url, "carillon_worker", 1),
    tick: await connectAsMember(owner, database.url, "carillon_tick", 1),
  };
});

afterAll(async () => {
  for (const sql of [...Object.values(roles), owner]) await sql.end();
  await database.drop();
});

test.each([
  ["ingest", "select from carillon.tokens"],
  ["ingest", "delete from carillon.command_marks"],
  ["ingest", "update carillon.audit set actor = 'somebody else'"],
  ["handler", "insert into carillon.command_marks (key, seen_on) values ('k', now())"],
  ["handler", "select from carillon.dead_commands"],
  ["worker", "select from carillon.command_marks"],
  [
    "tick",
    "insert into carillon.dead_commands (message_id, place, refused_at, refusal) values ('m', 0, now(), '{}')",
  ],
] as const)("%s may not: %s", async (role, statement) => {
  await expect(roles[role].unsafe(statement)).rejects.toMatchObject({ code: "42501" });
});
