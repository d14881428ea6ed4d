import {
  type EventBridgeClient,
  EventBridgeServiceException,
  PutEventsCommand,
} from "@aws-sdk/client-eventbridge";
import type { Sql } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { inHalves } from "../quarantine/in-halves.ts";
import { eachRequest, requests } from "../target/delivery.ts";
import { detailTypeOf, lifecycleEnvelope } from "./lifecycle-envelope.ts";
import { claimEvents, forgetEvents, type OutboxEvent, type Wanted } from "./outbox.ts";

export interface TellDeps {
  sql: Sql;
  events: EventBridgeClient;
  bus: string;
  log: Log;
}

interface Entry {
  event: OutboxEvent;
  detail: string;
  bytes: number;
}

export interface Told {
  claimed: number;
  told: number;
  /** The error of the first event that the bus did not take; null if it took all. */
  fault: string | null;
}

/** The time limit of all requests of one call. Events that remain are claimed again. */
const tellMs = 4_000;
/** Events that the bus has not taken by then are given up. */
const keptMs = 24 * 3_600_000;

/**
 * Takes up to `limit` events from the outbox and sends them to the bus, in requests of ten; events
 * that the bus took are deleted. If the process dies in between, they are sent twice, with the same
 * id. No transaction is open during the requests.
 */
export async function tellBus(deps: TellDeps, wanted: Wanted, limit: number): Promise<Told> {
  const claimed = await claimEvents(deps.sql, limit, wanted);
  if (claimed.length === 0) return { claimed: 0, told: 0, fault: null };
  const now = await databaseClock(deps.sql);
  const told: string[] = [];
  const faults: string[] = [];
  const entries = claimed.flatMap((event): Entry[] => {
    try {
      const detail = lifecycleEnvelope(event, now);
      return [{ event, detail, bytes: Buffer.byteLength(detail) + 300 }];
    } catch (error) {
      // Only this event comes again later, until it is given up.
      faults.push(errorText(error));
      return [];
    }
  });
  const timeIsUp = AbortSignal.timeout(tellMs);
  await eachRequest(requests(entries), async (batch) => {
    const answer = await putBatch(deps, batch, timeIsUp);
    told.push(...answer.told);
    faults.push(...answer.faults);
  });
  const givenUp = giveUp(deps, claimed, told, now);
  faults.push(...(await forgetEach(deps.sql, [...told, ...givenUp])));
  const [fault = null] = faults;
  if (fault !== null)
    deps.log.warn("lifecycle.untold", { events: claimed.length - told.length, bus: deps.bus, error: fault });
  return { claimed: claimed.length, told: told.length, fault };
}

/**
 * Deletes events and returns the errors. An event that cannot be deleted is sent again, and does
 * not keep others from being deleted.
 */
async function forgetEach(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const { failed } = await inHalves(
    ids,
    (some) => forgetEvents(sql, some),
    () => false,
  );
  return failed.map(({ item, error }) => `event ${item} cannot be forgotten: ${errorText(error)}`);
}

interface Answer {
  told: string[];
  faults: string[];
}

/**
 * The entries of the answer have no ids: they have the order of the request. A request that is
 * refused for one entry is repeated in halves.
 */
async function putBatch(deps: TellDeps, batch: readonly Entry[], abortSignal: AbortSignal): Promise<Answer> {
  const { events, bus } = deps;
  try {
    const { Entries = [] } = await events.send(
      new PutEventsCommand({
        Entries: batch.map(({ event, detail }) => ({
          EventBusName: bus,
          Source: "carillon",
          DetailType: detailTypeOf(event),
          Time: event.at,
          Detail: detail,
        })),
      }),
      { abortSignal },
    );
    const answers = batch.map(({ event }, position) => ({ event, answer: Entries[position] }));
    return {
      told: answers.flatMap(({ event, answer }) => (answer?.EventId === undefined ? [] : [event.id])),
      faults: answers.flatMap(({ answer }) =>
        answer?.EventId === undefined
          ? [`${answer?.ErrorCode ?? "no answer"} ${answer?.ErrorMessage ?? ""}`]
          : [],
      ),
    };
  } catch (error) {
    if (batch.length === 1 || !isRefusal(error)) return { told: [], faults: [errorText(error)] };
    const half = Math.ceil(batch.length / 2);
    const first = await putBatch(deps, batch.slice(0, half), abortSignal);
    const second = await putBatch(deps, batch.slice(half), abortSignal);
    return { told: [...first.told, ...second.told], faults: [...first.faults, ...second.faults] };
  }
}

const tooLarge = 413;

/** Whether the content of the request was refused, not its caller or its time. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof EventBridgeServiceException)) return false;
  return error.name === "ValidationException" || error.$metadata.httpStatusCode === tooLarge;
}

function giveUp(
  { bus, log }: TellDeps,
  claimed: readonly OutboxEvent[],
  told: readonly string[],
  now: Date,
): string[] {
  const known = new Set(told);
  const old = claimed.filter(({ id, at }) => !known.has(id) && now.getTime() - at.getTime() > keptMs);
  if (old.length > 0) log.error("lifecycle.given-up", { events: old.length, bus });
  return old.map(({ id }) => id);
}
