import { SendMessageBatchCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { Refused } from "../refusal.ts";
import { eachRequest, requests } from "../target/delivery.ts";

/** A command for the dead-letter queue, with the reason. */
export interface DeadLetter {
  messageId: string;
  place: number;
  commandId: string | null;
  key: string | null;
  refusal: Refused;
  /** The message body, which can be sent again after it has been corrected. */
  body: string;
}

/**
 * SQS takes a megabyte including the attributes. A body of that size would leave no room for the
 * reason.
 */
const bodyBytesMax = 1_000_000;
const textMax = 1_000;

/** Sends each command as its own message, and returns the commands that arrived. */
export async function sendDeadLetters(
  { sqs, url }: { sqs: SQSClient; url: string },
  letters: readonly DeadLetter[],
): Promise<DeadLetter[]> {
  const arrived: DeadLetter[] = [];
  const entries = letters.map((letter) => ({ letter, bytes: Buffer.byteLength(letter.body) + 4_000 }));
  await eachRequest(requests(entries), async (batch) => {
    const { Successful = [] } = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: url,
        Entries: batch.map(({ letter, bytes }, index) => ({
          Id: String(index),
          MessageBody: bytes > bodyBytesMax ? tooLarge(letter) : letter.body,
          MessageAttributes: attributesOf(letter),
        })),
      }),
    );
    for (const { Id } of Successful) {
      const entry = batch[Number(Id)];
      if (entry !== undefined) arrived.push(entry.letter);
    }
  });
  return arrived;
}

function tooLarge({ commandId, key }: DeadLetter): string {
  return JSON.stringify({ id: commandId, key, omitted: "the command, which leaves no room for its reason" });
}

function attributesOf({ messageId, place, commandId, key, refusal }: DeadLetter) {
  const values = {
    reason: refusal.kind,
    detail: refusal.message,
    errors: refusal.faults
      .map(({ path, message }) => (path === "" ? message : `${path} ${message}`))
      .join("; "),
    messageId,
    place: String(place),
    commandId: commandId ?? "",
    key: key ?? "",
  };
  return Object.fromEntries(
    Object.entries(values)
      .map(([name, value]) => [name, sendable(value)] as const)
      .filter(([, value]) => value !== "")
      .map(([name, StringValue]) => [name, { DataType: "String", StringValue }]),
  );
}

/** Removes characters that SQS does not take: it takes those of XML. */
function sendable(text: string): string {
  return text
    .slice(0, textMax)
    .toWellFormed()
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "");
}
