import { expect, onTestFinished, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { isStatement } from "../../lib/db/statement.ts";
import { readStatement } from "../../lib/target/handler/handler-text.ts";

function read(make: (sql: Sql) => unknown) {
  const sql = connect({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
  onTestFinished(() => sql.end());
  const statement = make(sql);
  if (!isStatement(statement)) throw new Error("The value is not a statement.");
  return readStatement(statement);
}

test.each<[string, (sql: Sql) => unknown]>([
  [
    "an insert with its columns",
    (sql) => sql`insert into billing.invoices (customer, month) values (${1}, ${"x"})`,
  ],
  [
    "rows by a helper of the driver",
    (sql) => sql`insert into written ${sql([{ text: "a" }])} on conflict (text) do nothing`,
  ],
  ["a list of values", (sql) => sql`select count(*) from t where id in ${sql([1, 2])} and at < now()`],
  ["an array", (sql) => sql`update t set done = true where id = any(${[1]}::int[]) returning id`],
  ["a common table", (sql) => sql`with w (a) as (values (1)), v as (select 2) select * from w, v`],
  ["a string that names a call", (sql) => sql`insert into t values ('set_config(x)', 'temp') -- lock(x)`],
  ["a setting of the transaction", (sql) => sql`set local lock_timeout = '1s'`],
  ["a savepoint", (sql) => sql`rollback to savepoint mine`],
  ["a notice", (sql) => sql`select pg_notify('a', ${"b"})`],
])("%s is sent and leaves nothing behind", (_, make) => {
  expect(read(make)).toEqual({ refusal: null, mayOutlast: false });
});

test.each<[string, (sql: Sql) => unknown]>([
  ["an unknown call", (sql) => sql`select mine.charge(${1})`],
  ["a call by a quoted name", (sql) => sql`select "set_config"('a', 'b', false)`],
  ["a call by the driver's name", (sql) => sql`select ${sql("set_config")}('a', 'b', false)`],
  ["a call in a fragment", (sql) => sql`select 1 where ${sql`pg_try_advisory_lock(${1})`}`],
  ["a call over two fragments", (sql) => sql`select set_${sql`config`}('a', 'b', false)`],
  ["a temporary table", (sql) => sql`select 1 as a into temporary mine`],
  ["a `do` block", (sql) => sql.unsafe("do $$ begin end $$")],
  ["a table", (sql) => sql.unsafe("create table t (a int)")],
  ["an escape", (sql) => sql.unsafe(String.raw`select E'\''`)],
])("%s is sent and may leave something behind", (_, make) => {
  expect(read(make)).toEqual({ refusal: null, mayOutlast: true });
});

test.each([
  "commit",
  "  COMMIT  AND CHAIN",
  "/* a */ -- b\n ; commit",
  "rollback",
  "rollback work",
  "abort",
  "end",
  "begin",
  "start transaction",
  "prepare transaction 'x'",
  "set session characteristics as transaction read only",
  'set "search_path" = x',
  "set/**/role x",
  "reset all",
  "discard all",
  "listen x",
  "prepare x as select 1",
  "deallocate all",
])("%j is not sent", (text) => {
  expect(read((sql) => sql.unsafe(text)).refusal).toMatch(/^ctx\.sql /);
});
