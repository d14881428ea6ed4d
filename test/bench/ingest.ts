import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
} from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import { assemble } from "../../functions/ingest.ts";
import { silentLog } from "../../lib/log/log.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { sqsEvent } from "../../lib/tools/local/lambda/sqs-event.ts";
import { invocation } from "../api/http-event.ts";
import { type BenchStack, benchStack, measuredOn } from "./bench-stack.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";

const messagesPerInvocation = 1_000;
const queueArn = "arn:aws:sqs:us-east-1:000000000000:bench-ingest";

export const does = "commands → schedules by one worker, handed over and through SQS";

export const options = { schedules: "300000", commands: "10000", runs: "3" };

interface IngestFigures extends Figures {
  /** Commands a second, by transport. */
  rates: Record<string, number>;
  commands: number;
  schedules: number;
}

/**
 * Commands → schedules, one invocation after the other: as Lambda passes messages with one command
 * each, and through SQS in messages of a hundred.
 */
export async function bench(options: Options, say: Say): Promise<IngestFigures> {
  const schedules = number(options, "schedules");
  const commands = number(options, "commands");
  const runs = number(options, "runs");
  say(machine());
  await using stack = await benchStack(options["data-dir"], 3);
  await seedSchedules(stack.sql, schedules, say);
  const made = await Promise.all(
    ["bench-ingest", "bench-ingest-dead"].map((QueueName) =>
      stack.queue.sqs.send(new CreateQueueCommand({ QueueName })),
    ),
  );
  const [url = "", deadUrl = ""] = made.map(({ QueueUrl }) => QueueUrl);
  const { handler, close } = assemble({
    ...stack.env,
    INGEST_QUEUE_URL: url,
    INGEST_DEAD_QUEUE_URL: deadUrl,
    CARILLON_LOG: "silent",
  });
  const work = async (Records: SQSRecord[]) => {
    const { batchItemFailures } = await handler({ Records }, invocation);
    if (batchItemFailures.length > 0) throw new Error(`${batchItemFailures.length} messages stay.`);
  };
  const rates: Record<string, number[]> = { put: [], watch: [], throughSqs: [] };
  try {
    for (let run = 1; run <= runs; run++) {
      await tick({ sql: stack.sql, queue: stack.queue, log: silentLog }, tickDefaults, () => false);
      await stack.sql`checkpoint`;
      rates["put"]?.push(await alone(work, puts(`put-${run}`, commands)));
      rates["watch"]?.push(await alone(work, watches(`watch-${run}`, commands)));
      rates["throughSqs"]?.push(await throughSqs(stack, url, work, puts(`sqs-${run}`, commands)));
      say(
        `run ${run}: ${JSON.stringify(Object.fromEntries(Object.entries(rates).map(([name, all]) => [name, all.at(-1)])))}`,
      );
    }
  } finally {
    await close();
  }
  const figures = Object.fromEntries(
    Object.entries(rates).map(([name, all]) => [`${name}PerSecond`, median(all)]),
  );
  say(`commands a second, one worker: ${JSON.stringify(figures)}`);
  return {
    perSecond: figures["putPerSecond"],
    rates: figures,
    commands,
    schedules,
    ...measuredOn(stack),
  };
}

export function page({ rates, commands, schedules }: IngestFigures): string {
  const rate = (name: string) => (rates[`${name}PerSecond`] ?? 0).toLocaleString("en");
  return `One function drains ${commands.toLocaleString("en")} commands a run, over ${schedules.toLocaleString("en")} schedules.

| commands | a second |
|---|--:|
| puts, one per message, as Lambda passes them on | ${rate("put")} |
| orders and their shipments: puts and deletes of the same keys, one in ten in reverse order | ${rate("watch")} |
| puts, a hundred a message, sent and received through SQS | ${rate("throughSqs")} |

The function, Postgres and the SQS emulator share the machine.`;
}

const target = { queue: "bench" };

function puts(prefix: string, count: number): object[] {
  return Array.from({ length: count }, (_, n) => ({
    put: { key: `${prefix}:${n}`, when: "in 3h", target, payload: { n } },
  }));
}

/**
 * Two of three orders are shipped at once; for one in ten of them the shipment arrives before the
 * order.
 */
function watches(prefix: string, count: number): object[] {
  const at = Date.now() - 60_000;
  return puts(prefix, Math.ceil((count * 3) / 5))
    .flatMap((put, n) => {
      const created = { id: `${prefix}-${n}`, at: new Date(at + n), ...put };
      if (n % 3 === 0) return [created];
      const shipped = { id: `${prefix}-${n}-shipped`, at: new Date(at + n + 1), delete: `${prefix}:${n}` };
      return n % 10 === 1 ? [shipped, created] : [created, shipped];
    })
    .slice(0, count);
}

async function alone(
  work: (records: SQSRecord[]) => Promise<void>,
  commands: readonly object[],
): Promise<number> {
  const sent = { SentTimestamp: String(Date.now()), ApproximateReceiveCount: "1" };
  const messages = commands.map((command) => ({
    MessageId: crypto.randomUUID(),
    Body: JSON.stringify(command),
    Attributes: sent,
  }));
  const startedAt = performance.now();
  for (let from = 0; from < messages.length; from += messagesPerInvocation)
    await work(sqsEvent(messages.slice(from, from + messagesPerInvocation), queueArn).Records);
  return perSecond(commands.length, performance.now() - startedAt);
}

const commandsPerMessage = 100;

async function throughSqs(
  { queue: { sqs } }: BenchStack,
  QueueUrl: string,
  work: (records: SQSRecord[]) => Promise<void>,
  commands: readonly object[],
): Promise<number> {
  const startedAt = performance.now();
  for (let from = 0; from < commands.length; from += commandsPerMessage) {
    const MessageBody = JSON.stringify(commands.slice(from, from + commandsPerMessage));
    await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries: [{ Id: "0", MessageBody }] }));
  }
  for (let left = Math.ceil(commands.length / commandsPerMessage); left > 0; ) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, MessageSystemAttributeNames: ["All"] }),
    );
    await work(sqsEvent(Messages, queueArn).Records);
    const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
    left -= Messages.length;
  }
  return perSecond(commands.length, performance.now() - startedAt);
}
