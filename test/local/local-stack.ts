import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

/** `npm start` as a process of its own, on free ports, with a token that the test knows. */
export interface StackProcess {
  urls: { api: string; sqs: string; events: string };
  child: ChildProcess;
  /** All output so far. */
  printed(): string;
  /** The same without the one line that names the token: the link that signs in to the page. */
  logged(): string;
  request(method: string, path: string, body?: unknown): Promise<Response>;
  end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

const token = "test-token";
const pollMs = 20;
const startScript = path.join(import.meta.dirname, "..", "..", "lib", "tools", "local", "start.ts");

export function spawnStart(
  dataDir: string,
  env: Record<string, string> = {},
  program = startScript,
): ChildProcess {
  const freePorts = { CARILLON_PORT: "0", CARILLON_SQS_PORT: "0", CARILLON_EVENTS_PORT: "0" };
  const own = { ...freePorts, CARILLON_DATA_DIR: dataDir, CARILLON_TOKEN: token, ...env };
  const { DATABASE_URL: _, npm_lifecycle_event: __, ...inherited } = process.env;
  return spawn(process.execPath, [program], {
    env: { ...inherited, ...own },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** `program` is another than `npm start`: that of the package. */
export async function startProcess(
  dataDir: string,
  env: Record<string, string> = {},
  program?: string,
): Promise<StackProcess> {
  const child = spawnStart(dataDir, env, program);
  const lines: string[] = [];
  const urls = await new Promise<StackProcess["urls"]>((resolve, reject) => {
    const read = (stream: NodeJS.ReadableStream | null) => {
      if (stream === null) return;
      createInterface(stream).on("line", (line) => {
        lines.push(line);
        const [, api, sqs, events] = /^carillon ready api=(\S+) sqs=(\S+) events=(\S+)$/.exec(line) ?? [];
        if (api !== undefined && sqs !== undefined && events !== undefined) resolve({ api, sqs, events });
      });
    };
    read(child.stdout);
    read(child.stderr);
    child.once("exit", () => reject(new Error(`The stack did not start:\n${lines.join("\n")}`)));
  });
  return {
    urls,
    child,
    printed: () => lines.join("\n"),
    logged: () => lines.filter((line) => !line.startsWith(`The page: ${urls.api}/#token=`)).join("\n"),
    request: (method, where, body) =>
      fetch(`${urls.api}${where}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    end: (signal) => endOf(child, signal),
  };
}

export async function endOf(child: ChildProcess, signal?: NodeJS.Signals) {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, "exit");
    if (signal !== undefined) child.kill(signal);
    await exited;
  }
  return { code: child.exitCode, signal: child.signalCode };
}

/**
 * The bodies of a queue's messages, received and deleted by long polls until `enough` returns true.
 */
export async function readQueue(
  stack: StackProcess,
  name: string,
  enough: (bodies: readonly string[]) => boolean,
): Promise<string[]> {
  const credentials = { accessKeyId: "reader", secretAccessKey: "reader" };
  const sqs = new SQSClient({ endpoint: stack.urls.sqs, region: "us-east-1", credentials });
  const bodies: string[] = [];
  try {
    const QueueUrl = `${stack.urls.sqs}/000000000000/${name}`;
    await untilMade(sqs, name);
    while (!enough(bodies)) {
      const poll = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5, MaxNumberOfMessages: 10 });
      const { Messages = [] } = await sqs.send(poll);
      for (const { Body = "", ReceiptHandle } of Messages) {
        bodies.push(Body);
        await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
      }
    }
  } finally {
    sqs.destroy();
  }
  return bodies;
}

/** Sends one message to a queue of the stack. */
export async function sendTo(stack: StackProcess, name: string, MessageBody: string): Promise<void> {
  const credentials = { accessKeyId: "sender", secretAccessKey: "sender" };
  const sqs = new SQSClient({ endpoint: stack.urls.sqs, region: "us-east-1", credentials });
  try {
    const QueueUrl = `${stack.urls.sqs}/000000000000/${name}`;
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
  } finally {
    sqs.destroy();
  }
}

/**
 * The number of messages in a queue of the stack: visible, delayed, and received but not yet
 * deleted.
 */
export async function waitingIn(stack: StackProcess, name: string): Promise<number> {
  const credentials = { accessKeyId: "reader", secretAccessKey: "reader" };
  const sqs = new SQSClient({ endpoint: stack.urls.sqs, region: "us-east-1", credentials });
  try {
    const QueueUrl = `${stack.urls.sqs}/000000000000/${name}`;
    const asked = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] });
    const { Attributes = {} } = await sqs.send(asked);
    return [
      Attributes.ApproximateNumberOfMessages,
      Attributes.ApproximateNumberOfMessagesDelayed,
      Attributes.ApproximateNumberOfMessagesNotVisible,
    ].reduce((sum, count) => sum + Number(count), 0);
  } finally {
    sqs.destroy();
  }
}

/** Waits for a queue that its first job creates, for at most the test's own timeout. */
async function untilMade(sqs: SQSClient, name: string): Promise<void> {
  const find = new GetQueueUrlCommand({ QueueName: name });
  for (;;) {
    try {
      await sqs.send(find);
      return;
    } catch (error) {
      if (!(error instanceof QueueDoesNotExist)) throw error;
      await sleep(pollMs);
    }
  }
}
