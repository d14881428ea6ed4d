import type { Sql } from "../db/connect.ts";
import { forgetRequests } from "../idempotency/kept-requests.ts";

const batchMax = 1_000;

/** Forgets what was kept of requests with an Idempotency-Key a day ago: a look at the end of an index. */
export async function forgetAnswers(sql: Sql, timeIsUp: () => boolean): Promise<void> {
  while (!timeIsUp() && (await forgetRequests(sql, batchMax)) === batchMax);
}
