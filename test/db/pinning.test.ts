import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { keptPlan } from "../../lib/db/statement.ts";
import { testDatabase } from "../support/database.ts";

const root = path.resolve(import.meta.dirname, "../..");

/** The parts of statements that pin a session, and their names in docs/proxy.md. */
const pinning: readonly [pattern: RegExp, name: (found: string) => string][] = [
  [
    /\bset\s+(?:local\s+|session\s+)?(?:\w+\.)?\w+\s*(?:=|\bto\b)/gi,
    (text) => text.replace(/\s*(=|to)$/i, ""),
  ],
  [/\bset_config\s*\(/gi, () => "set_config"],
  [/\breset\s+\w+|\bdiscard\s+(?:all|plans|temp|sequences)\b/gi, (text) => text],
  [/\b(?:nextval|setval|currval|lastval)\s*\(/gi, (text) => text.replace(/\s*\($/, "")],
  [/\bpg_(?:try_)?advisory_(?:un)?lock(?:_shared|_all)?\s*\(/gi, (text) => text],
  [/\bcreate\s+(?:global\s+|local\s+)?temp(?:orary)?\b/gi, (text) => text],
  [/\b(?:un)?listen\s+\w+|\bdeallocate\b|\bwith\s+hold\b|\bload\s+'/gi, (text) => text],
  [/\bprepare\s+\w+\s*(?:\(|as\b)|\bexecute\s+\w+\s*\(/gi, (text) => text],
];

/** Files of migrations, which connect to the server directly as the owner, without the proxy. */
const ofMigrations = /^lib\/db\/(apply-migration|blockers|iam-logins|migrat\S*|password-logins)\.ts$/;

/** The source files of functions. */
function sources(): string[] {
  return ["lib", "functions"]
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        path.posix.join(folder, name),
      ),
    )
    .filter((file) => file.endsWith(".ts") && !file.startsWith("lib/tools/local/"))
    .toSorted();
}

function statementsOf(file: string): string[] {
  const text = readFileSync(path.join(root, file), "utf8");
  return [...text.matchAll(/(?:\b(?:tx|sql|owner)(?:<[^`]*?>)?|\bunsafe\()`((?:[^`\\]|\\.)*)`/gs)].map(
    ([, inside = ""]) => inside,
  );
}

/** Removes the assignments of updates and upserts, which look like settings. */
function withoutAssignments(statement: string): string {
  return statement
    .replace(/\b(?:update\b[\s\S]*?|do\s+update\s+)\bset\b/gi, "update")
    .replace(/\bset\s+\w+\s*=\s*excluded\./gi, "");
}

function pinningIn(file: string): string[] {
  return statementsOf(file)
    .map(withoutAssignments)
    .flatMap((text) =>
      pinning.flatMap(([pattern, name]) => [...text.matchAll(pattern)].map(([found]) => name(found))),
    )
    .map((found) => found.toLowerCase().replaceAll(/\s+/g, " ").trim());
}

test("docs/proxy.md lists every statement of the functions that pins a connection of RDS Proxy, and no other", () => {
  const found = sources()
    .filter((file) => !ofMigrations.test(file))
    .flatMap((file) => pinningIn(file).map((what) => `${file}: ${what}`));
  const page = readFileSync(path.join(root, "docs/proxy.md"), "utf8");
  const listed = [...page.matchAll(/^\| `(lib\/[^`]+)` \| `([^`]+)` \|/gm)].map(
    ([, file, what]) => `${file}: ${what}`,
  );
  expect([...new Set(found)].toSorted()).toEqual(listed.toSorted());
});

test("whether statements are prepared by name is decided in one place, and docs/proxy.md names the setting", () => {
  const containing = (pattern: RegExp) =>
    sources().filter((file) => pattern.test(readFileSync(path.join(root, file), "utf8")));
  // Every connection is made in line.ts; the driver in sql.ts only makes statements.
  expect(containing(/\bpostgres\(/)).toEqual(["lib/db/line.ts", "lib/db/sql.ts"]);
  expect(containing(/\.prepare\s*(?:[?|&]{2})?=(?!=)|\bprepare:/)).toEqual([
    "lib/db/line.ts",
    "lib/db/statement.ts",
  ]);
  // Functions connect by their environment. Only the migration, which uses no proxy, connects in
  // another way.
  expect(containing(/\bconnectAs\(/)).toEqual(["lib/db/connect.ts", "lib/db/migrate/connect-as-owner.ts"]);
  expect(containing(/\bconnectAsOwner\(/)).toEqual([
    "functions/migrate.ts",
    "lib/db/migrate/connect-as-owner.ts",
  ]);
  expect(readFileSync(path.join(root, "docs/proxy.md"), "utf8")).toContain("`DATABASE_PREPARE=off`");
});

test("behind the proxy a session has no prepared statement, neither a fixed nor a marked one", async () => {
  const database = await testDatabase();
  onTestFinished(() => database.drop());
  const sql = connect({ DATABASE_URL: database.url, DATABASE_PREPARE: "off" });
  onTestFinished(() => sql.end());
  await sql.begin(async (tx) => {
    await tx`select ${1}::int`;
    await keptPlan(tx`select ${tx`now()`}`);
    expect(await tx`select name from pg_prepared_statements`).toEqual([]);
  });
});

test("the search for statements that pin finds them in any case and spacing", () => {
  const finds = (statement: string) =>
    pinning.some(([pattern]) => statement.search(new RegExp(pattern.source, pattern.flags)) >= 0);
  const pins = [
    "SET search_path = carillon",
    "set statement_timeout to '5s'",
    "set session carillon.user = 'x'",
    "select set_config('a.b', 'c', false)",
    "select pg_advisory_lock(1)",
    "select pg_try_advisory_lock_shared (1, 2)",
    "create temporary table t (n int)",
    "create temp view v as select 1",
    "listen jobs",
    "prepare p as select 1",
    "select nextval ('s')",
    "discard all",
    "declare c cursor with hold for select 1",
  ];
  expect(pins.filter((statement) => !finds(statement))).toEqual([]);
  const shared = [
    "select pg_advisory_xact_lock(1, 2)",
    "select pg_try_advisory_xact_lock_shared(1)",
    withoutAssignments("update carillon.jobs j set state = 'dead' where id = 1"),
    withoutAssignments("insert into t values (1) on conflict (a) do update set n = excluded.n"),
    "begin isolation level read committed",
  ];
  expect(shared.filter(finds)).toEqual([]);
});
