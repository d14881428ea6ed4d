import { Agent, type IncomingMessage, request } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import type { Answer, Answers } from "./answers.ts";
import { onLoopback } from "./loopback.ts";

export interface Sent {
  method: string;
  path: string;
  token?: string | undefined;
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer | undefined;
}

/** Longer than the API's function and a queue in front of it take. */
const answersWithinMs = 90_000;

/** Sends requests over connections of its own, and notes the answers. */
export class Caller {
  readonly #over: AbortSignal | undefined;
  readonly #url: URL;
  readonly #agent: Agent;
  readonly #answers: Answers;

  /** When `over` aborts, it sends no more. */
  constructor(
    api: string,
    answers: Answers,
    { connections = 16, over }: { connections?: number; over?: AbortSignal } = {},
  ) {
    this.#over = over;
    this.#url = onLoopback(api);
    this.#answers = answers;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Undefined without an answer, which is a fault unless the time is over. */
  async send(sent: Sent): Promise<Answer | undefined> {
    if (this.#over?.aborted) return undefined;
    const what = `${sent.method} ${sent.path.slice(0, 200)}`;
    try {
      const answer = await this.#exchange(sent);
      this.#answers.note(what, answer);
      return answer;
    } catch (error) {
      this.#answers.fault(`${what}: no answer: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  /** Sends a JSON body, and parses that of a success. */
  async json(
    method: string,
    path: string,
    { token, body }: { token: string; body?: unknown },
  ): Promise<unknown> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await this.send({ method, path, token, body: text });
    if (answer === undefined || answer.status >= 400 || answer.text === "") return undefined;
    return JSON.parse(answer.text);
  }

  close(): void {
    this.#agent.destroy();
  }

  #exchange({ method, path, token, headers = {}, body }: Sent): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const own = request(
      {
        host: this.#url.hostname.replace(/^\[|\]$/g, ""),
        port: this.#url.port,
        agent: this.#agent,
        method,
        path,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
          ...headers,
        },
        signal: AbortSignal.timeout(answersWithinMs),
      },
      (response) => readAnswer(response).then(resolve, reject),
    );
    own.on("error", reject);
    own.end(body);
    return promise;
  }
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: Buffer.concat(chunks).toString("utf8"),
  };
}

/** Runs `count` pieces of work, at most `atOnce` at a time. */
export async function inParallel(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) {
      await work(next++);
      await turn();
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
}
