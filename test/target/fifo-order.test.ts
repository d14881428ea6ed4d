import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { CreateQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { done } from "../../lib/target/delivery.ts";
import { queueTarget } from "../../lib/target/queue-target.ts";
import { functionsKeyId } from "../../lib/tools/local/local-account.ts";
import { startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { monday } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";

test("a FIFO queue is sent one request at a time, so that its messages stay in order", async () => {
  // Otherwise a slow request is overtaken by the next one, and the receiver gets the later jobs
  // first.
  const dataDir = mkdtempSync(path.join(tmpdir(), "carillon-fifo-"));
  const emulator = await startQueues({ dataDir, port: 0, queues: [] });
  const credentials = { accessKeyId: functionsKeyId, secretAccessKey: "secret" };
  const sqs = new SQSClient({ endpoint: emulator.url, region: "us-east-1", credentials });
  let underWay = 0;
  let most = 0;
  sqs.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName !== "SendMessageBatchCommand") return next(args);
        underWay += 1;
        most = Math.max(most, underWay);
        const answer = await next(args);
        underWay -= 1;
        return answer;
      },
    { step: "initialize" },
  );
  await sqs.send(new CreateQueueCommand({ QueueName: "orders.fifo", Attributes: { FifoQueue: "true" } }));
  const deliver = queueTarget({ sqs, clock: manualClock(monday), ownUrls: [] });
  const jobs = Array.from({ length: 35 }, (_, n) =>
    claimedJob({ queue: "orders.fifo", groupId: "one" }, { n }),
  );
  expect(await deliver(jobs, deliveryContext())).toEqual(jobs.map(() => done));
  expect(most).toBe(1);
  sqs.destroy();
  await emulator.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** An SQS that answers each request as the test says, and the jobs that it received. */
function scriptedSqs(answers: ((entries: { Id: string }[]) => object)[]) {
  const sent: string[][] = [];
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const sqs = new SQSClient({ region: "us-east-1", credentials });
  sqs.middlewareStack.add(
    () =>
      async ({ input }) => {
        const { Entries } = batchShape.parse(input);
        sent.push(Entries.map(({ MessageBody }) => envelopeShape.parse(JSON.parse(MessageBody)).data));
        const answer = answers[sent.length - 1]?.(Entries) ?? { Successful: Entries };
        return { response: {}, output: { $metadata: {}, ...answer } };
      },
    { step: "initialize", priority: "high" },
  );
  onTestFinished(() => sqs.destroy());
  return { sent, deliver: queueTarget({ sqs, clock: manualClock(monday), ownUrls: [] }) };
}

const batchShape = z.object({
  Entries: z.array(z.object({ Id: z.string(), MessageBody: z.string() })),
});
const envelopeShape = z.object({ data: z.string() });

/** Jobs of the message groups `a` and `b`, in this order. */
const jobsOf = (groups: string) =>
  [...groups].map((groupId, n) =>
    claimedJob(
      { queue: "https://sqs.us-east-1.amazonaws.com/1/orders.fifo", groupId },
      { n, payload: `${groupId}${n}` },
    ),
  );

const throttled = () => {
  throw Object.assign(new Error("slow down"), { name: "RequestThrottled" });
};

test("messages behind a refused request go back with those of its message group, and other groups go on", async () => {
  const { sent, deliver } = scriptedSqs([throttled]);
  const outcomes = await deliver(
    jobsOf(`${"a".repeat(10)}${"ab".repeat(5)}${"a".repeat(5)}`),
    deliveryContext(),
  );
  expect(sent.slice(1)).toEqual([["b11", "b13", "b15", "b17", "b19"]]);
  const kinds = outcomes.map(({ kind }) => kind);
  expect(kinds.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => "failed"));
  expect(kinds.slice(10, 20)).toEqual(Array.from({ length: 5 }, () => ["back", "done"]).flat());
  expect(kinds.slice(20)).toEqual(Array.from({ length: 5 }, () => "back"));
});

test("messages behind one that was refused in an earlier request go back", async () => {
  const one = (entries: { Id: string }[]) => ({
    Successful: entries.filter(({ Id }) => Id !== "3"),
    Failed: [{ Id: "3", Code: "InternalError", SenderFault: false }],
  });
  const { sent, deliver } = scriptedSqs([one]);
  const outcomes = await deliver(jobsOf("aaabaaaaaabba"), deliveryContext());
  expect(sent[1]).toEqual(["a12"]);
  expect(outcomes.map(({ kind }) => kind).slice(9)).toEqual(["done", "back", "back", "done"]);
});
