import type { Sql } from "../connect.ts";

/** The addresses of the database in an update of the deployment. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

/** The update names another database, and nothing of Carillon is in it. */
export class EmptyDatabase extends Error {
  override readonly name = "EmptyDatabase";

  constructor({ from, to }: Move) {
    super(
      `The database at ${to} has no tables of Carillon, and this deployment had its schedules at ${from}. Nothing was changed. Restore a backup of that database with databaseSnapshot or databaseRestoredFrom, keep those settings in later deployments, or set databaseMayBeEmpty=true to begin without any schedule.`,
    );
  }
}

export async function refuseEmptyDatabase(sql: Sql, move: Move): Promise<void> {
  const [found] = await sql<{ migrated: boolean }[]>`
    select to_regclass('carillon.migrations') is not null as migrated`;
  if (found?.migrated !== true) throw new EmptyDatabase(move);
}

/**
 * The other database may be restored from a backup of the one before, which went on giving out ids. Harmless where it
 * was not, and where it happens twice.
 */
export async function skipIdsAfterRestore(sql: Sql): Promise<void> {
  await sql`select carillon.skip_ids()`;
}
