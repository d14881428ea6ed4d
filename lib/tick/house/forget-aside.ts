import type { Sql } from "../../db/connect.ts";
import { dropForgotten } from "../../quarantine/quarantine.ts";

const batchMax = 1_000;

/** Forgets rows in quarantine that no consumer has come to: they are gone, or another part has acted on them. */
export async function forgetAside(sql: Sql, timeIsUp: () => boolean): Promise<void> {
  while (!timeIsUp() && (await dropForgotten(sql, batchMax)) === batchMax);
}
