import type { Sql } from "../../db/connect.ts";
import { oldRequests } from "../../idempotency/kept-requests.ts";
import type { Log } from "../../log/log.ts";
import { forgetOld } from "../../quarantine/forget-old.ts";

/**
 * Deletes the stored answers of requests with an Idempotency-Key after a day. It costs one lookup
 * at the end of an index.
 */
export async function forgetAnswers(deps: { sql: Sql; log: Log }, timeIsUp: () => boolean): Promise<void> {
  await forgetOld(deps, oldRequests, timeIsUp);
}
