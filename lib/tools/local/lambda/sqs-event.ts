import type { Message, MessageAttributeValue } from "@aws-sdk/client-sqs";
import type { SQSEvent, SQSMessageAttribute, SQSRecord } from "aws-lambda";
import { localRegion } from "../local-account.ts";

/** Messages as Lambda passes them to a function with the queue as its event source. */
export function sqsEvent(messages: readonly Message[], queueArn: string): SQSEvent {
  return { Records: messages.map((message) => toRecord(message, queueArn)) };
}

function toRecord(message: Message, queueArn: string): SQSRecord {
  const attributes = message.Attributes ?? {};
  return {
    messageId: message.MessageId ?? "",
    receiptHandle: message.ReceiptHandle ?? "",
    body: message.Body ?? "",
    attributes: {
      ...attributes,
      ApproximateReceiveCount: attributes.ApproximateReceiveCount ?? "1",
      SentTimestamp: attributes.SentTimestamp ?? "0",
      SenderId: attributes.SenderId ?? "",
      ApproximateFirstReceiveTimestamp: attributes.ApproximateFirstReceiveTimestamp ?? "0",
    },
    messageAttributes: Object.fromEntries(
      Object.entries(message.MessageAttributes ?? {}).map(([name, value]) => [name, toAttribute(value)]),
    ),
    md5OfBody: message.MD5OfBody ?? "",
    ...(message.MD5OfMessageAttributes === undefined
      ? {}
      : { md5OfMessageAttributes: message.MD5OfMessageAttributes }),
    eventSource: "aws:sqs",
    eventSourceARN: queueArn,
    awsRegion: localRegion,
  };
}

function toAttribute({
  DataType = "String",
  StringValue,
  BinaryValue,
}: MessageAttributeValue): SQSMessageAttribute {
  return {
    stringListValues: [],
    binaryListValues: [],
    dataType: DataType,
    ...(StringValue === undefined ? {} : { stringValue: StringValue }),
    ...(BinaryValue === undefined ? {} : { binaryValue: Buffer.from(BinaryValue).toString("base64") }),
  };
}
