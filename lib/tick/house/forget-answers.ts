import type { Sql } from "../../db/connect.ts";
import { oldRequests } from "../../idempotency/kept-requests.ts";
import type { Log } from "../../log/log.ts";
import { forgetOld } from "../../quarantine/forget-old.ts";

/** Forgets what was kept of requests with an Idempotency-Key a day ago: a look at the end of an index. */
export async function forgetAnswers(deps: { sql: Sql; log: Log }, timeIsUp: () => boolean): Promise<void> {
  await forgetOld(deps, oldRequests, timeIsUp);
}
