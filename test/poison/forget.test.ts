import { afterEach, beforeEach, expect, test } from "vitest";
import { dropOldRefused } from "../../lib/inbox/refusals.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { quarantined, told } from "./poison.ts";
import { rowPoisons } from "./row-poisons.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const old = "carillon.clock() - interval '400 days'";
const token = "5a8d2ad0-7f1c-4b0b-9d53-2f4c7f3f5b11";

interface Table {
  table: string;
  /** The column that identifies the rows of a test: k1 to k5. */
  name: string;
  fill: string;
  /** The item under which the row k3 is in quarantine. */
  item: string;
}

const tables: readonly Table[] = [
  {
    table: "inbox_refusals",
    name: "key",
    fill: `(id, at, refused_at, caller, key, command, problem, faults) select i, ${old}, ${old}, 'x', 'k' || i, '{}', 'p', '[]'`,
    item: "inbox_refusals 3",
  },
  {
    table: "dead_commands",
    name: "key",
    fill: `(message_id, place, key, refused_at, refusal) select 'm' || i, 0, 'k' || i, ${old}, '{}'`,
    item: "dead_commands 3",
  },
  {
    table: "command_marks",
    name: "key",
    fill: `(key, seen_on) select 'k' || i, (${old})::date`,
    item: "command_marks k3",
  },
  {
    table: "idempotency",
    name: "key",
    fill: `(token_id, key, fingerprint, claim, claimed_until, created_at) select '${token}'::uuid, 'k' || i, 'x', 1, ${old}, ${old}`,
    item: `idempotency ${token} k3`,
  },
  {
    table: "audit",
    name: "subject",
    fill: `(at, actor, action, subject) select ${old}, 'a', 'b', 'k' || i`,
    item: "audit 3",
  },
];

const left = async ({ table, name }: Table) =>
  (
    await world.sql.unsafe(
      `select ${name} as name from carillon.${table} where ${name} ~ '^k[0-9]+$' order by 1`,
    )
  ).map((row) => row["name"]);

const fillTo = ({ table, fill }: Table, count: number) =>
  world.sql.unsafe(`insert into carillon.${table} ${fill} from generate_series(1, ${count}) i`);

const tick = () => world.tick({ auditRetentionDays: 30 });

const poisons = ["unwritable", "locked", "slow"] as const;
const cases = tables.flatMap((table) =>
  poisons
    .filter((poison) => table.table !== "command_marks" || poison !== "locked")
    .map((poison) => [table.table, poison, table] as const),
);

test.each(cases)(
  "An old row of %s that cannot be deleted (%s) is set aside, the others are deleted in the same tick, and it is deleted once repaired",
  async (_, poison, table) => {
    await fillTo(table, 5);
    const condition = (row: string) => `${row}.${table.name} = 'k3'`;
    await rowPoisons[poison].during(world, { table: table.table, condition, on: "delete" }, async () => {
      await tick();
      expect(await left(table)).toEqual(["k3"]);
    });
    expect(await quarantined(world)).toMatchObject([
      {
        consumer: "forget",
        item: table.item,
        reason: expect.stringContaining(rowPoisons[poison].reason),
        tries: 1,
      },
    ]);
    expect(told(world)).toEqual([["forget", table.item]]);
    await tick();
    expect(await left(table)).toEqual(["k3"]);
    await world.clock.advance(hour);
    await tick();
    expect(await left(table)).toEqual([]);
    expect(await quarantined(world)).toEqual([]);
  },
);

test("A row that cannot be deleted is found among thousands although the time of the part is up after the first attempt", async () => {
  const refused = tables.filter(({ table }) => table === "inbox_refusals");
  for (const table of refused) {
    await fillTo(table, 4_000);
    const condition = (row: string) => `${row}.key = 'k3'`;
    let asked = 0;
    // The loop and the page check the time; from the third check on, time is up.
    const timeIsUp = () => {
      asked += 1;
      return asked > 2;
    };
    await rowPoisons.unwritable.during(world, { table: table.table, condition, on: "delete" }, () =>
      dropOldRefused(world, timeIsUp),
    );
    expect(await left(table)).toEqual(["k3"]);
    expect(told(world)).toEqual([["forget", table.item]]);
  }
});

test("An old mark of a command that another transaction has locked is in use: it stays, and is not set aside", async () => {
  const marks = tables.filter(({ table }) => table === "command_marks");
  for (const table of marks) {
    await fillTo(table, 5);
    await world.sql.begin(async (tx) => {
      await tx`select from carillon.command_marks where key = 'k3' for update`;
      await tick();
    });
    expect(await left(table)).toEqual(["k3"]);
    expect(await quarantined(world)).toEqual([]);
    await tick();
    expect(await left(table)).toEqual([]);
  }
});

test.each(tables.map((table) => [table.table, table] as const))(
  "More old rows of %s than one page has are deleted in one tick",
  async (_, table) => {
    await fillTo(table, 5_100);
    await tick();
    expect(await left(table)).toEqual([]);
  },
);

test("Old rows whose delete has no effect do not keep the part of the tick running", async () => {
  const requests = tables.filter(({ table }) => table === "idempotency");
  for (const table of requests) await fillTo(table, 1_000);
  await world.sql.unsafe(`
    create function public.drop_it() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger drop_it before delete on carillon.idempotency for each row execute function public.drop_it()`);
  await tick();
  for (const table of requests) expect(await left(table)).toHaveLength(1_000);
});
