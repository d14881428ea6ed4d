import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { startQueues } from "../../lib/tools/local/queue/start-queues.ts";

/**
 * A process that owns an emulator until it is killed: sends one message, reports the answer, and
 * waits.
 */
const [, , dataDir = ""] = process.argv;
const emulator = await startQueues({ dataDir, port: 0, queues: [{ name: "jobs", attributes: {} }] });
const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };
const sqs = new SQSClient({ endpoint: emulator.url, region: "us-east-1", credentials });
await sqs.send(new SendMessageCommand({ QueueUrl: emulator.queueUrl("jobs"), MessageBody: "answered" }));
process.stdout.write("answered\n");
