import type { Sql } from "../connect.ts";

/** The API keeps this many connections where the database has fewer than the deployment counts with. */
const leastOfApi = 5;

/**
 * Limits the connections of the API, so that ticks and workers always get theirs. The API has an
 * environment for each request under way: requests that wait for each other's locks, of a single
 * caller, would otherwise take all connections of the database. `ofOthers` is the number that
 * everything else may need; null sets no limit, as behind a proxy. `most` is the number for which the
 * database has memory.
 */
export async function limitApiConnections(
  sql: Sql,
  ofOthers: number | null,
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  const [server] = await sql<{ max: number }[]>`select current_setting('max_connections')::int as max`;
  if (server === undefined) throw new Error("The database returned no limit of connections.");
  const limit = ofOthers === null ? -1 : Math.max(leastOfApi, Math.min(server.max - ofOthers, most));
  await sql.unsafe(`alter role carillon_api connection limit ${limit}`);
}
