import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, systemClock } from "../../../clock.ts";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { guarded } from "../callers.ts";
import { listenOnLoopback, readBody } from "../http-server.ts";
import { makeBus, type QueueMessage } from "./bus.ts";
import { type BusStore, openBusStore } from "./bus-store.ts";
import { OperationFault } from "./operation-input.ts";
import { eventOperations, type Operation } from "./operations.ts";
import { InvalidPattern } from "./pattern-leaf.ts";

export interface EventsEndpoint {
  url: string;
  port: number;
  stop(): Promise<void>;
}

export interface EventsOptions {
  dataDir: string;
  /** 0 picks a free port. */
  port: number;
  /** Names of this machine besides those of the loopback interface. */
  hosts?: readonly string[];
  /** Sends a message to a queue that is a rule's target. */
  send(message: QueueMessage): Promise<void>;
  log: Log;
  clock?: Clock;
}

const bodyBytesMax = 2_000_000;
const graceMs = 1_000;
const pageLength = 100;
const listMax = 1_000;
const awsJson = "application/x-amz-json-1.1";

/** An EventBridge endpoint for any EventBridge client, with a list of the received events at `/events`. */
export async function startEvents(options: EventsOptions): Promise<EventsEndpoint> {
  const { send, log, clock = systemClock } = options;
  const store = openBusStore(options.dataDir);
  const operations = eventOperations(makeBus({ store, send, clock, log }), store);
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { status, type, body } = await answerTo(request, store, operations).catch((error: unknown) => {
      log.error("events.failed", { error: errorText(error) });
      return fault(500, "InternalException", "The event bus failed; its log says why.");
    });
    response.writeHead(status, { "content-type": type, "x-content-type-options": "nosniff" });
    response.end(body);
  };
  try {
    const callers = { hosts: options.hosts ?? [], origins: null };
    const server = await listenOnLoopback(
      options.port,
      guarded(callers, (request, response) => void answer(request, response)),
    );
    return {
      url: server.url,
      port: server.port,
      stop: async () => {
        await server.close(graceMs);
        store.close();
      },
    };
  } catch (error) {
    store.close();
    throw error;
  }
}

interface Answer {
  status: number;
  type: string;
  body: string;
}

async function answerTo(
  request: IncomingMessage,
  store: BusStore,
  operations: ReadonlyMap<string, Operation>,
): Promise<Answer> {
  return request.method === "GET" ? show(request.url ?? "/", store) : operate(request, operations);
}

function show(address: string, store: BusStore): Answer {
  const { pathname, searchParams } = new URL(address, "http://localhost");
  if (pathname === "/events") {
    const limit = Math.floor(Math.min(listMax, Math.max(1, Number(searchParams.get("limit")) || pageLength)));
    return { status: 200, type: "application/json", body: JSON.stringify({ items: store.arrivals(limit) }) };
  }
  return {
    status: 404,
    type: "text/plain",
    body: "The received events are at /events. EventBridge clients list the rules.\n",
  };
}

async function operate(
  request: IncomingMessage,
  operations: ReadonlyMap<string, Operation>,
): Promise<Answer> {
  const body = await readBody(request, bodyBytesMax);
  if (body === undefined) return fault(413, "RequestEntityTooLargeException", "The request is too large.");
  if (!request.headers["content-type"]?.startsWith(awsJson)) {
    return fault(415, "UnknownOperationException", `The Content-Type must be ${awsJson}.`);
  }
  const name = String(request.headers["x-amz-target"] ?? "").replace(/^AWSEvents\./, "");
  const operation = operations.get(name);
  if (operation === undefined) {
    const known = [...operations.keys()].join(", ");
    return fault(400, "UnknownOperationException", `"${name}" is not supported here; use ${known}.`);
  }
  try {
    const result = await operation(JSON.parse(body.toString("utf8")));
    return { status: 200, type: awsJson, body: JSON.stringify(result) };
  } catch (error) {
    return faultOf(error);
  }
}

function faultOf(error: unknown): Answer {
  if (error instanceof OperationFault) return fault(400, error.type, error.message);
  if (error instanceof SyntaxError) return fault(400, "SerializationException", "The body is not JSON.");
  if (error instanceof InvalidPattern) {
    const reason = `Event pattern is not valid. Reason: ${error.message}`;
    return fault(400, "InvalidEventPatternException", reason);
  }
  throw error;
}

function fault(status: number, type: string, message: string): Answer {
  return { status, type: awsJson, body: JSON.stringify({ __type: type, message }) };
}
