import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

interface SendBatch {
  QueueName?: string;
  Entries?: { Id: string; MessageBody: string }[];
}

export interface SwallowingQueue extends AsyncDisposable {
  url: string;
}

/**
 * An SQS that accepts every message and keeps none: the emulator would hold all of a bench's
 * payloads.
 */
export async function swallowingQueue(): Promise<SwallowingQueue> {
  let url = "";
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      response.setHeader("content-type", "application/x-amz-json-1.0");
      response.end(JSON.stringify(answerTo(Object(body), url)));
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  url = `http://127.0.0.1:${address.port}`;
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((closed) => server.close(() => closed()));
    },
  };
}

function answerTo({ QueueName, Entries = [] }: SendBatch, url: string): object {
  if (QueueName !== undefined) return { QueueUrl: `${url}/000000000000/${QueueName}` };
  const Successful = Entries.map(({ Id, MessageBody }) => ({
    Id,
    MessageId: Id,
    MD5OfMessageBody: createHash("md5").update(MessageBody).digest("hex"),
  }));
  return { Successful, Failed: [] };
}
