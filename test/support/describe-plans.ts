import { afterAll, beforeAll, describe } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type Carillon, carillon } from "./carillon.ts";
import { type TestDatabase, testDatabase } from "./database.ts";
import { statistics, tell } from "./statistics.ts";

/** A filled database and one connection to it, for the tests of one state of the statistics. */
export interface Filled {
  readonly world: Carillon;
  readonly sql: Sql;
}

/**
 * Describes tests of plans for each state of the planner's statistics. The database is filled once,
 * and copied for each state: a copy takes a tenth of the time.
 */
export function describePlans(
  what: string,
  fill: (sql: Sql) => Promise<void>,
  tests: (filled: Filled) => void,
): void {
  let original: TestDatabase;

  beforeAll(async () => {
    original = await testDatabase("still");
    const sql = connect({ DATABASE_URL: original.url }, { max: 1 });
    await fill(sql);
    await sql.end();
  });

  afterAll(() => original.drop());

  describe.each(statistics)(`${what}, %s`, (_, told) => {
    let world: Carillon;
    let sql: Sql;

    beforeAll(async () => {
      world = await carillon({ copyOf: original });
      sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
      await tell(sql, told);
      await sql`set jit = off`;
    });

    afterAll(async () => {
      await sql.end();
      await world.stop();
    });

    tests({
      get world() {
        return world;
      },
      get sql() {
        return sql;
      },
    });
  });
}
