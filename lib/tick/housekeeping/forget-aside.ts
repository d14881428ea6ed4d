import type { Sql } from "../../db/connect.ts";
import { dropForgotten } from "../../quarantine/quarantine.ts";

const batchMax = 1_000;

/**
 * Deletes quarantine entries that no consumer retries: their rows are gone, or another part has
 * handled them.
 */
export async function forgetAside(sql: Sql, timeIsUp: () => boolean): Promise<void> {
  while (!timeIsUp() && (await dropForgotten(sql, batchMax)) === batchMax);
}
