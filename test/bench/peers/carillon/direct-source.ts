import { randomUUID } from "node:crypto";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { systemClock } from "../../../../lib/clock.ts";
import type { Environment } from "../../../../lib/config/environment.ts";
import { connect, type Sql } from "../../../../lib/db/connect.ts";
import { parcelMessage, type QueueClass } from "../../../../lib/parcel/parcel-queue.ts";
import type { LocalFunction } from "../../../../lib/tools/local/lambda/local-function.ts";
import { sqsEvent } from "../../../../lib/tools/local/lambda/sqs-event.ts";
import { localQueueArn } from "../../../../lib/tools/local/local-account.ts";

/** The source of a worker's parcels. */
export interface Source {
  /** Takes no more parcels. */
  stop(): Promise<void>;
  /** Releases its resources, once no parcel is under way. */
  end(): Promise<void>;
}

export interface DirectSourceParts {
  env: Environment;
  queueClass: QueueClass;
  queueName: string;
  batchSize: number;
  consumer: LocalFunction<SQSEvent, SQSBatchResponse>;
}

const pauseMs = 5;

/**
 * Passes parcels to the function without SQS, whose emulator would take the CPU that is measured.
 * It queries the database for parcels that are ready and unclaimed, and passes none twice, as SQS
 * does. When two processes find the same parcel, one of them claims it.
 */
export function startDirectSource({ env, ...parts }: DirectSourceParts): Source {
  const sql = connect(env, { max: 1, applicationName: "carillon-bench" });
  const stopping = new AbortController();
  const parcels = readyParcels(sql, parts, stopping.signal);
  const invocations = Array.from({ length: parts.consumer.concurrency }, () =>
    invoke(parcels, parts, stopping.signal),
  );
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(invocations);
    },
    end: () => sql.end(),
  };
}

interface ReadyParcels {
  take(): Promise<string[]>;
  /**
   * Called when the invocation of these parcels is over: those that are still ready may be passed
   * again.
   */
  letGo(ids: readonly string[]): void;
}

/**
 * Finds a hundred parcels per query. Concurrent callers share a query, and also the pause after one
 * that found nothing.
 */
function readyParcels(
  sql: Sql,
  { queueClass, batchSize }: Pick<DirectSourceParts, "queueClass" | "batchSize">,
  stopping: AbortSignal,
): ReadyParcels {
  const brought = new Set<string>();
  const found: string[] = [];
  let refilling: Promise<void> | undefined;

  async function refill(): Promise<void> {
    const rows = await sql<{ id: string }[]>`
      select id from carillon.parcels where queue = ${queueClass} and ready_at <= carillon.clock() and lease_until is null
        and id <> all (${[...brought]}::bigint[])
      order by random() limit 100`;
    for (const { id } of rows) {
      brought.add(id);
      found.push(id);
    }
    if (rows.length === 0) await systemClock.sleep(pauseMs, stopping);
    refilling = undefined;
  }

  return {
    take: async () => {
      if (found.length === 0) {
        refilling ??= refill();
        await refilling;
      }
      return found.splice(0, batchSize);
    },
    letGo: (ids) => {
      for (const id of ids) brought.delete(id);
    },
  };
}

async function invoke(
  parcels: ReadyParcels,
  { queueName, consumer }: Pick<DirectSourceParts, "queueName" | "consumer">,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const ready = await parcels.take();
    if (ready.length === 0) continue;
    const messages = ready.map((id) => ({ MessageId: randomUUID(), Body: parcelMessage(id) }));
    const { batchItemFailures } = await consumer.invoke(sqsEvent(messages, localQueueArn(queueName)));
    if (batchItemFailures.length > 0) throw new Error(`${batchItemFailures.length} parcels failed.`);
    parcels.letGo(ready);
  }
}
