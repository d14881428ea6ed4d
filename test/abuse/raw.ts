import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Answer } from "./answers.ts";
import { onLoopback } from "./loopback.ts";

/** A connection without an HTTP client, for requests that no client would send. */
export async function openSocket(api: string): Promise<Socket> {
  const { hostname, port } = onLoopback(api);
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ""));
  await once(socket, "connect");
  // The server may close the connection at any time, which is an answer too.
  socket.on("error", () => {});
  return socket;
}

/** Reads until the server closes the connection, or `signal` aborts. */
export async function answersOn(socket: Socket, signal: AbortSignal): Promise<Answer[]> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  const closed = once(socket, "close", { signal }).catch(() => {});
  await closed;
  return parsedAnswers(Buffer.concat(chunks).toString("latin1"));
}

/** Sends a whole request whose connection ends with the answer. */
export async function sendRaw(
  api: string,
  request: readonly (string | Buffer)[],
  signal: AbortSignal,
): Promise<Answer[]> {
  const socket = await openSocket(api);
  const answers = answersOn(socket, signal);
  for (const part of request) if (socket.writable) socket.write(part);
  const read = await answers;
  socket.destroy();
  return read;
}

/** The answers in a stream, each with a Content-Length or none. */
export function parsedAnswers(stream: string): Answer[] {
  const found: Answer[] = [];
  for (let rest = stream; rest.startsWith("HTTP/1.1 "); ) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) break;
    const [first = "", ...lines] = rest.slice(0, end).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const bytes = Number(headers["content-length"] ?? 0);
    const text = rest.slice(end + 4, end + 4 + bytes);
    const status = Number(first.split(" ")[1]);
    if (status !== 100) found.push({ status, headers, text });
    rest = rest.slice(end + 4 + bytes);
  }
  return found;
}
