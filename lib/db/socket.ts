import { isIP, type Socket, connect as tcpConnect } from "node:net";
import { Duplex } from "node:stream";
import { connect as tlsConnect } from "node:tls";
import { ConnectionLost } from "./connection-lost.ts";

export interface Server {
  /** Or, where it begins with a slash, the folder of a socket on this machine. */
  host: string;
  port: number;
  /** True: encrypted, and the server's certificate must be trusted and carry its name. There is nothing in between. */
  tls: boolean;
  /** The certificate, as PEM, of who alone vouches for the server. By default whomever Node trusts. */
  ca?: string;
}

/** How long a server may say nothing. */
export interface SilenceLimits {
  /** Before the connection is there. */
  connectMs: number;
  /** While it is asked something; null for any time. */
  answerMs: number | null;
  isAsked: () => boolean;
}

// What a client sends to ask for TLS before anything else: a length of 8 and the code that the protocol reserves for this.
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const TLS_ACCEPTED = "S";

/** A socket to the server, ready for the protocol's start-up message. It always resolves: one that failed to open ends at once with its cause. */
export async function openSocket(server: Server, limits: SilenceLimits): Promise<Duplex> {
  try {
    const { host, port } = server;
    const tcp = tcpConnect(
      host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port, noDelay: true },
    );
    const opening = server.tls ? secured(tcp, server) : untilEvent(tcp, "connect", tcp);
    const opened = await within(tcp, opening, limits.connectMs);
    endAtSilence(opened, limits);
    return endingInOneStep(opened);
  } catch (cause) {
    return failedSocket(new ConnectionLost(`${server.host}:${server.port} could not be reached`, cause));
  }
}

/** A socket that ends with this error as soon as somebody listens. (The driver never frees a connection whose socket was not made.) */
export function failedSocket(error: Error): Duplex {
  const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
  setImmediate(() => socket.destroy(error));
  return socket;
}

async function secured(tcp: Socket, { host, ca }: Server): Promise<Socket> {
  await untilEvent(tcp, "connect", tcp);
  tcp.write(TLS_REQUEST);
  const answer = await new Promise<Buffer>((resolve, reject) => {
    tcp.once("data", resolve);
    tcp.once("close", () =>
      reject(new Error("The server closed the connection instead of answering to TLS.")),
    );
  });
  // More than the one byte would be clear text that somebody put before the handshake to have it believed after it.
  if (answer.toString("latin1") !== TLS_ACCEPTED) throw new Error("The server does not offer TLS.");
  tcp.removeAllListeners("close");
  const name = isIP(host) === 0 ? { servername: host } : {};
  const trusted = ca === undefined ? {} : { ca };
  const verified = { rejectUnauthorized: true, minVersion: "TLSv1.2", ...name, ...trusted } as const;
  const tls = tlsConnect({ socket: tcp, host, ...verified });
  return untilEvent(tls, "secureConnect", tls);
}

function untilEvent<S extends Socket>(socket: S, event: "connect" | "secureConnect", opened: S): Promise<S> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(error);
    socket.once("error", fail);
    socket.once(event, () => {
      socket.off("error", fail);
      resolve(opened);
    });
  });
}

/** The other end may be gone without a word: no statement's own time limit ends where the server that keeps it is not there. */
function endAtSilence(socket: Socket, { answerMs, isAsked }: SilenceLimits): void {
  if (answerMs === null) return;
  socket.setTimeout(answerMs, () => {
    if (isAsked()) socket.destroy(new Error(`There was no answer within ${answerMs} ms.`));
  });
}

function within(tcp: Socket, opening: Promise<Socket>, ms: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const giveUp = (cause: Error) => {
      clearTimeout(timer);
      // Whatever else this socket has to say comes too late.
      tcp.on("error", () => {});
      tcp.destroy();
      reject(cause);
    };
    const timer = setTimeout(() => giveUp(new Error(`There was no answer within ${ms} ms.`)), ms);
    opening.then((socket) => {
      clearTimeout(timer);
      resolve(socket);
    }, giveUp);
  });
}

const lostBy = (cause: unknown) =>
  new ConnectionLost(cause === undefined ? "the server closed it" : "it broke", cause);

/**
 * Node reports a broken socket in two steps, `error` and, some turns of the event loop later, `close`. The driver (postgres 3.4.9) rejects
 * what is under way at the first and takes the connection out of use at the second; a statement sent in between is never answered, or is
 * answered as done by the connection that follows. So both are told in one step here, and what is under way is always rejected.
 */
function endingInOneStep(socket: Socket): Socket {
  const emit = socket.emit.bind(socket);
  let cause: unknown;
  const orderly = (event: string, ...details: unknown[]): boolean => {
    if (event === "error") {
      cause = details[0];
      return true;
    }
    if (event === "close") {
      emit("error", cause instanceof ConnectionLost ? cause : lostBy(cause));
      return emit("close", false);
    }
    return emit(event, ...details);
  };
  Object.defineProperty(socket, "emit", { value: orderly, configurable: true });
  return socket;
}
