import { connect } from "node:net";
import { text } from "node:stream/consumers";

export interface RawRequest {
  /** The first line without the version. */
  line?: string;
  version?: "1.0" | "1.1";
  /** Nothing is added but the length of the body. */
  headers?: readonly (readonly [string, string])[];
  body?: string;
}

export interface RawAnswer {
  status: number;
  headers: string;
  body: string;
}

/** Sends exactly these lines, which clients of HTTP would mend. The server closes the connection. */
export async function rawRequest(
  port: number,
  { line = "GET /", version = "1.1", headers = [], body = "" }: RawRequest,
): Promise<RawAnswer> {
  const socket = connect(port, "127.0.0.1");
  const length = body === "" ? [] : [["Content-Length", String(Buffer.byteLength(body))]];
  const lines = [...headers, ...length, ["Connection", "close"]].map(([name, value]) => `${name}: ${value}`);
  socket.write(`${[`${line} HTTP/${version}`, ...lines].join("\r\n")}\r\n\r\n${body}`);
  const [head = "", ...rest] = (await text(socket)).split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), headers: head.toLowerCase(), body: rest.join("\r\n\r\n") };
}
