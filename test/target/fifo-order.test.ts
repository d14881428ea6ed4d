import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { CreateQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { functionsKeyId } from "../../lib/local/local-account.ts";
import { startQueues } from "../../lib/local/queue/start-queues.ts";
import { done } from "../../lib/target/delivery.ts";
import { queueTarget } from "../../lib/target/queue-target.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { monday } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";

test("a FIFO queue is sent one request at a time, so that its messages stay in order", async () => {
  // Else a request that takes longer is overtaken by the next one, and the receiver gets the later jobs first.
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
