import { isIP, type Socket, connect as tcpConnect } from "node:net";
import { Duplex } from "node:stream";
import { connect as tlsConnect } from "node:tls";
import { ConnectionLost } from "./connection-lost.ts";

export interface Server {
  /** A name or address, or the folder of a local socket where it begins with a slash. */
  host: string;
  port: number;
  /**
   * True: the connection is encrypted, and the server's certificate must be trusted and carry its
   * name. There is no weaker form.
   */
  tls: boolean;
  /**
   * The only certificate, as PEM, that may vouch for the server; by default those that Node trusts.
   */
  ca?: string;
}

/** How long a server may be silent. */
export interface SilenceLimits {
  /** While connecting. */
  connectMs: number;
  /** While a statement waits for its answer; null for no limit. */
  answerMs: number | null;
  isAsked: () => boolean;
}

// The request for TLS that precedes everything else: a length of 8 and the code that the protocol
// reserves for it.
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const TLS_ACCEPTED = "S";

/**
 * A socket to the server, ready for the start-up message of the protocol. It always resolves: a
 * socket that failed to open ends at once, with its cause.
 */
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

/**
 * A socket that ends with this error at the next turn of the event loop, once its listeners are
 * set. The driver never frees a connection whose socket was not made.
 */
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
      reject(new Error("The server closed the connection instead of answering the request for TLS.")),
    );
  });
  // More than one byte would be clear text that an attacker put before the handshake, to be taken
  // for encrypted text after it.
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

/**
 * Ends a connection whose other end is gone silently. A statement timeout is kept by the server,
 * and so does not help when the server is gone.
 */
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
      // Later errors of this socket come after the failure is reported.
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
 * Reports the end of a socket in one step. Node reports a broken socket in two steps: `error` and,
 * some turns of the event loop later, `close`. The driver (postgres 3.4.9) rejects running
 * statements at the first and stops using the connection at the second. A statement sent in between
 * is never answered, or the next connection reports it as done. With both events in one step, every
 * running statement is rejected.
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
