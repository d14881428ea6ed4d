import {
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { z } from "zod";

const envelope = z.object({
  specversion: z.literal("1.0"),
  type: z.literal("carillon.job.due"),
  id: z.string(),
  subject: z.string(),
  time: z.iso.datetime().transform((text) => Date.parse(text)),
  data: z.unknown(),
});

/** The envelope that a queue target receives. */
export type Arrived = z.infer<typeof envelope>;

/** A queue for this smoke test alone, with the operations that it needs. */
export class SmokeQueue {
  readonly name: string;
  private readonly sqs = new SQSClient({});
  private url = "";

  constructor(name: string) {
    this.name = name;
  }

  async make(): Promise<void> {
    const { QueueUrl } = await this.sqs.send(new CreateQueueCommand({ QueueName: this.name }));
    if (QueueUrl === undefined) throw new Error(`SQS created the queue ${this.name} and returned no URL.`);
    this.url = QueueUrl;
  }

  /** The next message, received by long polls and deleted from the queue. */
  async next(waitedMsMax: number): Promise<Arrived> {
    const until = Date.now() + waitedMsMax;
    while (Date.now() < until) {
      const poll = new ReceiveMessageCommand({ QueueUrl: this.url, WaitTimeSeconds: 5 });
      const { Messages = [] } = await this.sqs.send(poll);
      for (const { Body = "", ReceiptHandle } of Messages) {
        await this.sqs.send(new DeleteMessageCommand({ QueueUrl: this.url, ReceiptHandle }));
        return envelope.parse(JSON.parse(Body));
      }
    }
    throw new Error(`Nothing arrived in ${this.name} within ${waitedMsMax / 1_000} s.`);
  }

  async send(queueUrl: string, command: object): Promise<void> {
    const MessageBody = JSON.stringify(command);
    await this.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }));
  }

  async remove(): Promise<void> {
    if (this.url !== "") await this.sqs.send(new DeleteQueueCommand({ QueueUrl: this.url }));
    this.sqs.destroy();
  }
}
