import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { acceptanceOf } from "../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../lib/command/allowed-targets.ts";
import { type Environment, required } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { answerMs, functionConnections, transactionMs } from "../lib/config/function-connections.ts";
import { logFrom } from "../lib/config/log-from.ts";
import { metricsFrom } from "../lib/config/metrics-from.ts";
import { connect } from "../lib/db/connect.ts";
import { ingestMessages } from "../lib/ingest/ingest.ts";
import { definedOnce } from "../lib/limit/define-limits.ts";
import { parcelQueueFrom } from "../lib/parcel/parcel-queue-from.ts";
import { ownHandlers } from "./own-handlers.ts";

/** With less time left than this, no further message is begun. */
const reserveMs = 15_000;

export function assemble(env: Environment): Assembled<SQSEvent, SQSBatchResponse> {
  const log = logFrom(env, "ingest");
  const metrics = metricsFrom(env, "ingest");
  const sql = connect(env, {
    max: functionConnections.ingest,
    applicationName: "carillon-ingest",
    answerMs: answerMs.others,
    transactionMs: transactionMs.ingest,
    log,
  });
  const queue = parcelQueueFrom(env, log);
  const own = ownHandlers(log);
  const prefix = env["INGEST_PREFIX"] ?? "";
  const deps = {
    sql,
    queue,
    log,
    metrics,
    acceptance: acceptanceOf({ ...own, targets: allowedTargetsFrom(env) }),
    prefix: prefix === "" ? null : prefix,
    queues: { url: required(env, "INGEST_QUEUE_URL"), deadUrl: required(env, "INGEST_DEAD_QUEUE_URL") },
  };
  const limitsDefined = definedOnce(sql, log, own);
  return {
    handler: async ({ Records }, invocation) => {
      await limitsDefined();
      const timeIsUp = () => invocation.getRemainingTimeInMillis() < reserveMs;
      const stay = await ingestMessages(deps, Records, timeIsUp);
      return { batchItemFailures: stay.map((itemIdentifier) => ({ itemIdentifier })) };
    },
    close: async () => {
      queue.sqs.destroy();
      await sql.end();
    },
  };
}

export const handler = onDemand(assemble, { hasHandlers: true });
