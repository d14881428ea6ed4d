import { SQSClient } from "@aws-sdk/client-sqs";
import { localAccount } from "../../../lib/tools/local/local-account.ts";
import { emptyQueue } from "./empty-queue.ts";
import { httpCaller } from "./http-caller.ts";
import { type LoadOrder, type LoadReport, loadOrder } from "./load-orders.ts";
import { loadTally } from "./load-tally.ts";
import { atRate } from "./pace.ts";
import { requestsOf } from "./requests.ts";

/**
 * The process that sends requests: it receives one order, runs it until its time is over, and
 * reports the result.
 */
process.once("message", (message) => {
  generate(loadOrder.parse(message)).then(
    (report) => process.send?.(report, () => process.exit(0)),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exit(1);
    },
  );
});
process.once("disconnect", () => process.exit(1));

async function generate(order: LoadOrder): Promise<LoadReport> {
  const { api, sqs: endpoint, token, rates, from, to } = order;
  const tally = loadTally(order);
  const caller = httpCaller(api, token);
  const credentials = { accessKeyId: "receiver", secretAccessKey: "receiver" };
  const sqs = new SQSClient({ endpoint, region: "us-east-1", credentials });
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();
  const emptying = order.queues.map((name) =>
    emptyQueue(sqs, `${endpoint}/${localAccount}/${name}`, stopping.signal, tally.received),
  );
  const requests = requestsOf(order);
  const send = (verb: keyof typeof rates) => (n: number, plannedAt: number) => {
    const { method, path, body } = requests[verb](n);
    const answered = caller.call(method, path, body).then(
      ({ status, body: text }) => tally.answered(verb, plannedAt, status, text),
      (error: unknown) => tally.answered(verb, plannedAt, 0, String(error)),
    );
    const ended: Promise<void> = answered.finally(() => underWay.delete(ended));
    underWay.add(ended);
  };
  try {
    const verbs = ["soon", "creates", "edits", "deletes", "reads"] as const;
    await Promise.all(verbs.map((verb) => atRate(rates[verb], { from, to }, send(verb))));
    const ended = await Promise.race([Promise.all(underWay), sleep(answerMs)]);
    if (ended === undefined) tally.unanswered(underWay.size);
    // Messages of jobs that were due until now are still on their way to the receivers.
    await sleep(receiveMs);
    stopping.abort();
    await Promise.all(emptying);
  } finally {
    sqs.destroy();
    caller.close();
  }
  return tally.report();
}

const receiveMs = 8_000;
/** A request without an answer by then counts as unanswered. */
const answerMs = 40_000;

function sleep(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms));
}
