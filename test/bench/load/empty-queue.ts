import {
  DeleteMessageBatchCommand,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";

const pollSeconds = 5;
const pauseMs = 500;

/** Receives and deletes the messages of a queue until it is stopped, as a real receiver would. */
export async function emptyQueue(
  sqs: SQSClient,
  QueueUrl: string,
  stopping: AbortSignal,
  onReceived: (count: number) => void,
): Promise<void> {
  while (!stopping.aborted) {
    const messages = await receive(sqs, QueueUrl, stopping);
    if (messages === undefined) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      continue;
    }
    if (messages.length === 0) continue;
    onReceived(messages.length);
    const Entries = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  }
}

/** Undefined while the queue does not exist: a target's queue is created by its first job. */
async function receive(sqs: SQSClient, QueueUrl: string, stopping: AbortSignal) {
  const poll = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: pollSeconds });
  try {
    return (await sqs.send(poll, { abortSignal: stopping })).Messages ?? [];
  } catch (error) {
    if (stopping.aborted) return [];
    if (error instanceof QueueDoesNotExist) return undefined;
    throw error;
  }
}
