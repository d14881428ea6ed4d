import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { connectAsMember } from "../support/role-logins.ts";
import { type CallerLogin, callerLogin } from "./callers.ts";

let database: TestDatabase;
let owner: Sql;
let ann: CallerLogin;
let bob: CallerLogin;
beforeAll(async () => {
  database = await testDatabase();
  owner = connect({ DATABASE_URL: database.url });
  ann = await callerLogin(owner, database.url);
  bob = await callerLogin(owner, database.url);
});
afterAll(async () => {
  await Promise.all([owner, ann.sql, bob.sql].map((sql) => sql.end()));
  await database.drop();
});

const denied = { code: "42501" };
const forCallers = [
  "delete_schedule",
  "enqueue_job",
  "patch_schedule",
  "pause_schedule",
  "put_schedule",
  "resume_schedule",
  "send_command",
];
const putting = (key: string) =>
  `select carillon.put_schedule('{"key": "${key}", "when": "in 1h", "target": {"queue": "demo"}}')`;

describe("the role of a caller", () => {
  test("a caller may execute the functions for callers, and no other function of Carillon", async () => {
    const rows = await owner<{ name: string; signature: string; args: number; allowed: boolean }[]>`
      select p.proname as name, p.oid::regprocedure::text as signature, p.pronargs as args,
        has_function_privilege(${ann.role}, p.oid, 'execute') as allowed
      from pg_proc p where p.pronamespace = 'carillon'::regnamespace order by 1`;
    expect(rows.length).toBeGreaterThan(40);
    expect(rows.filter(({ allowed }) => allowed).map(({ name }) => name)).toEqual(forCallers);
    for (const { signature, args } of rows.filter(({ allowed }) => !allowed)) {
      const types = signature.slice(signature.indexOf("(") + 1, -1);
      const nulls =
        args === 0
          ? ""
          : types
              .split(",")
              .map((type) => `null::${type}`)
              .join(", ");
      const call = `select ${signature.slice(0, signature.indexOf("("))}(${nulls})`;
      await expect(ann.sql.unsafe(call), call).rejects.toMatchObject({
        code: expect.stringMatching(/^42(501|809)$/),
      });
    }
  });

  test("a caller may read its two views, and no other table, view or sequence of Carillon", async () => {
    const relations = await owner<{ name: string; kind: string }[]>`
      select c.oid::regclass::text as name, c.relkind as kind from pg_class c
      where c.relnamespace = 'carillon'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S')`;
    expect(relations.length).toBeGreaterThan(20);
    for (const { name, kind } of relations) {
      const isOwn = name === "carillon.inbox_errors" || name === "carillon.inbox_status";
      if (isOwn) await ann.sql.unsafe(`select * from ${name}`);
      else await expect(ann.sql.unsafe(`select * from ${name}`), name).rejects.toMatchObject(denied);
      if (kind !== "S")
        await expect(
          ann.sql.begin((tx) => tx.unsafe(`lock table ${name} in access exclusive mode`)),
          name,
        ).rejects.toMatchObject(denied);
      if (kind === "S") {
        await expect(ann.sql.unsafe(`select nextval('${name}')`), name).rejects.toMatchObject(denied);
        continue;
      }
      for (const statement of [
        `insert into ${name} default values`,
        `delete from ${name}`,
        `truncate ${name}`,
        `drop ${kind === "v" ? "view" : "table"} ${name}`,
      ])
        await expect(ann.sql.unsafe(statement), statement).rejects.toMatchObject({
          code: expect.stringMatching(/^(42501|42809|55000)$/),
        });
    }
  });

  test("a caller may create nothing in Carillon's schema and take on none of its roles", async () => {
    for (const statement of [
      "create table carillon.mine (n int)",
      "create function carillon.mine() returns int language sql as 'select 1'",
      "alter schema carillon rename to mine",
      ...["carillon_tick", "carillon_worker", "carillon_handler", "carillon_api"].map(
        (role) => `set role ${role}`,
      ),
      "select carillon.restrict_caller('carillon_caller', null)",
      `insert into carillon.inbox (at, caller, reach, key, command, bytes) values (now(), 'bob', '', 'a', '{"delete": "a"}', 1)`,
    ])
      await expect(ann.sql.unsafe(statement), statement).rejects.toMatchObject(denied);
  });

  test("a caller's own functions and tables are not used by functions that run with the owner's rights", async () => {
    const evil = `evil_${ann.role}`;
    await owner.unsafe(`create schema ${evil} authorization ${ann.role}`);
    await owner`select carillon.restrict_caller(${ann.role}, 'orders:')`;
    const tricks = [
      `create temp table inbox (id bigint, at timestamptz, caller text, command jsonb, bytes int) on commit drop`,
      `create function ${evil}.starts_with(text, text) returns boolean language sql as 'select true'`,
      `create function ${evil}.pg_has_role(name, oid, text) returns boolean language sql as 'select false'`,
      `create function ${evil}.jsonb_typeof(jsonb) returns text language plpgsql as $$ begin raise exception 'as %', current_user; end $$`,
      `set local search_path = ${evil}, pg_temp, carillon, pg_catalog`,
    ];
    const tricked = (key: string) =>
      ann.sql.begin(async (tx) => {
        for (const trick of tricks) await tx.unsafe(trick);
        // Not by put_schedule, whose own search path would prevent the test.
        await tx.unsafe(`select carillon.send_command('{"delete": "${key}"}')`);
        return tx`select from pg_temp.inbox`;
      });
    await expect(tricked("billing:1")).rejects.toMatchObject(denied);
    expect(await tricked("orders:1")).toEqual([]);
    expect(await owner`select caller from carillon.inbox`).toEqual([{ caller: ann.role }]);
    await owner`delete from carillon.inbox`;
    await owner`select carillon.restrict_caller(${ann.role}, null)`;
  });

  test("a caller sees its own errors and no other's, by any query", async () => {
    for (const [id, { role }] of [bob, ann].entries())
      await owner`
        insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
        values (${id}, now(), now(), ${role}, ${role}, '{}', 'It is not understood.', '[]')`;
    expect(await ann.sql`select caller from carillon.inbox_errors`).toEqual([{ caller: ann.role }]);
    const looking = ann.sql.begin(async (tx) => {
      await tx.unsafe(`
        create function pg_temp.leak(text) returns boolean language plpgsql cost 0.0000001
        as $$ begin raise exception 'saw %', $1; return true; end $$`);
      await tx`select from carillon.inbox_errors where pg_temp.leak(key)`;
    });
    await expect(looking).rejects.toThrow(`saw ${ann.role}`);
    await owner`delete from carillon.inbox_refusals`;
  });
});

describe("the rights of other roles", () => {
  test("no function of Carillon is executable by every role", async () => {
    const open = await owner`
      select p.oid::regprocedure::text as name from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      where p.pronamespace = 'carillon'::regnamespace and a.grantee = 0`;
    expect(open).toEqual([]);
  });

  test("workers and handlers cannot read the inbox", async () => {
    for (const role of ["carillon_worker", "carillon_handler"] as const) {
      const sql = await connectAsMember(owner, database.url, role, 1);
      for (const table of ["inbox", "inbox_refusals", "caller_prefixes"])
        await expect(sql.unsafe(`select * from carillon.${table}`), `${role} ${table}`).rejects.toMatchObject(
          denied,
        );
      await sql.end();
    }
  });
});

describe("a caller that is restricted to a prefix", () => {
  const restrict = (role: string, prefix: string | null) =>
    owner`select carillon.restrict_caller(${role}, ${prefix})`;
  const keys = async () =>
    (
      await owner<{ key: string }[]>`
      select coalesce(command #>> '{put,key}', command #>> '{delete,key}', command #>> '{job,key}') as key from carillon.inbox order by id`
    ).map(({ key }) => key);

  test("a restricted caller reaches keys with its prefix, and the keys of its jobs are made with it", async () => {
    await restrict(ann.role, "orders:");
    await ann.sql.unsafe(putting("orders:1"));
    await ann.sql.unsafe(`select carillon.enqueue_job('{"target": {"queue": "demo"}}')`);
    for (const statement of [
      putting("billing:1"),
      putting("order"),
      "select carillon.delete_schedule('billing:1')",
      "select carillon.pause_schedule('billing:1')",
      "select carillon.resume_schedule('billing:1')",
      `select carillon.patch_schedule('{"key": "billing:1", "payload": 1}')`,
      `select carillon.enqueue_job('{"key": "billing:1", "target": {"queue": "demo"}}')`,
      `select carillon.send_command('{"delete": "billing:1"}')`,
    ])
      await expect(ann.sql.unsafe(statement), statement).rejects.toMatchObject({
        ...denied,
        message: expect.stringContaining('keys that begin with "orders:"'),
      });
    await bob.sql.unsafe(putting("billing:1"));
    expect(await keys()).toEqual([
      "orders:1",
      expect.stringMatching(/^orders:job:[0-9a-f-]{36}$/),
      "billing:1",
    ]);
    await owner`delete from carillon.inbox`;
    await restrict(ann.role, null);
    await ann.sql.unsafe(putting("billing:2"));
    await owner`delete from carillon.inbox`;
  });

  test("a restriction of a role applies to its members, also under a new name, and not to the owner", async () => {
    const team = `team_${ann.role}`;
    await owner.unsafe(`create role ${team} nologin`);
    await owner.unsafe(`grant ${team} to ${bob.role}`);
    await restrict(team, "team:");
    await expect(bob.sql.unsafe(putting("billing:1"))).rejects.toMatchObject(denied);
    await bob.sql.unsafe(putting("team:1"));
    await owner.unsafe(`alter role ${team} rename to ${team}_renamed`);
    await expect(bob.sql.unsafe(putting("billing:1"))).rejects.toMatchObject(denied);
    await restrict(bob.role, "bob:");
    await bob.sql.unsafe(putting("bob:1"));
    await bob.sql.unsafe(putting("team:2"));
    await owner.unsafe(putting("anything"));
    expect(await keys()).toEqual(["team:1", "bob:1", "team:2", "anything"]);
    await owner`delete from carillon.inbox`;
    await owner.unsafe(`drop role ${team}_renamed`);
    await restrict(bob.role, null);
    await bob.sql.unsafe(putting("billing:1"));
    await owner`delete from carillon.inbox`;
  });

  test("a restriction of a missing role or to an invalid prefix is refused with the reason", async () => {
    await expect(restrict("nobody", "a")).rejects.toMatchObject({
      code: "22023",
      message: 'There is no role "nobody"',
    });
    await expect(restrict(ann.role, "a/")).rejects.toMatchObject({ code: "22023" });
    await expect(restrict(ann.role, "")).rejects.toMatchObject({ code: "22023" });
    await expect(owner`select carillon.restrict_caller(null, null)`).rejects.toMatchObject({ code: "22023" });
  });
});
