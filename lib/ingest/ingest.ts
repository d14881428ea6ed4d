import { ChangeMessageVisibilityBatchCommand } from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import { byShard, TooManyJobs } from "../batch/jobs-budget.ts";
import { gotNoAnswer } from "../config/aws.ts";
import { databaseClock } from "../db/database-clock.ts";
import { eachWithinLimit } from "../job/schema-time.ts";
import { errorText } from "../log/error-text.ts";
import { inParts } from "../quarantine/in-halves.ts";
import { applyChunk, deadOf } from "./apply-chunk.ts";
import { type DeadCommand, markTold, untold } from "./dead-commands.ts";
import { type DeadLetter, sendDeadLetters } from "./dead-letters.ts";
import { isPassing } from "./failure.ts";
import type { IngestDeps } from "./ingest-deps.ts";
import { commandsMax, type NotUnderstood, type Received, readMessage } from "./received.ts";
import { type Understood, understand } from "./understand.ts";

export interface IngestQueues {
  /** The URL of the queue that delivers the messages. */
  url: string;
  deadUrl: string;
}

export interface QueueDeps extends IngestDeps {
  queues: IngestQueues;
}

/**
 * How long a patch, pause or resume waits for the put that it has overtaken, and how often it is
 * retried.
 */
const earlyMs = 15 * 60_000;
const earlyAgainSeconds = 30;

/** A command, with the body of its message. */
interface Entry {
  messageId: string;
  body: string;
  understood?: Understood;
  dead?: DeadCommand;
}

/** The counts of a run for its line in the log. */
interface Count {
  commands: number;
  applied: number;
  passedOver: number;
  refused: number;
  early: number;
}

interface Run {
  deps: QueueDeps;
  now: Date;
  count: Count;
  /** The ids of messages that stay on the queue. */
  stay: Set<string>;
  early: Set<string>;
  /** Whether any entry has been tried. */
  begun: boolean;
  timeIsUp: () => boolean;
}

/**
 * Applies the commands of these messages together, as many in one transaction as fit. Returns the
 * ids of messages that are not done and must come again. Of every other message each command is
 * durably applied, passed over or dead.
 */
export async function ingestMessages(
  deps: QueueDeps,
  records: readonly SQSRecord[],
  timeIsUp: () => boolean,
): Promise<string[]> {
  const count: Count = { commands: 0, applied: 0, passedOver: 0, refused: 0, early: 0 };
  const stay = new Set<string>();
  try {
    const now = await databaseClock(deps.sql);
    const run: Run = { deps, now, count, stay, early: new Set(), begun: false, timeIsUp };
    const entries = entriesOf(run, records);
    count.commands = entries.length;
    for (let from = 0; from < entries.length; from += commandsMax)
      await applyEntries(run, entries.slice(from, from + commandsMax));
    await comeSoon(run, records);
  } catch (error) {
    // The failure came before any message was tried.
    for (const { messageId } of records) stay.add(messageId);
    deps.log.error("ingest.failed", { messages: records.length, error: errorText(error) });
  }
  if (count.commands > 0)
    deps.metrics?.write({ IngestedCommands: count.applied, RefusedCommands: count.refused });
  deps.log.info("ingest.done", { messages: records.length, ...count, stay: stay.size });
  return [...stay];
}

/**
 * Unreadable commands first, since they have no order; then the others in the order in which they
 * were given.
 */
function entriesOf(run: Run, records: readonly SQSRecord[]): Entry[] {
  const { deps, now, stay } = run;
  const nothing: ReturnType<typeof understand> = { understood: [], refused: [] };
  const bodies = new Map(records.map(({ messageId, body }) => [messageId, body]));
  const entry = (messageId: string, more: Pick<Entry, "understood" | "dead">): Entry => ({
    messageId,
    body: bodies.get(messageId) ?? "",
    ...more,
  });
  const read = records.flatMap((record) => orStay(run, record.messageId, () => readMessage(record), []));
  const received = read.filter((one): one is Received => !("refusal" in one));
  const each = eachWithinLimit(received, (one) => {
    if (!run.timeIsUp()) return orStay(run, one.messageId, () => understand(deps, [one], now), nothing);
    // A handler's schema may take long for each payload. The message comes again.
    stay.add(one.messageId);
    return nothing;
  });
  return [
    ...read
      .filter((one): one is NotUnderstood => "refusal" in one)
      .map((one) => entry(one.messageId, { dead: unread(one) })),
    ...each
      .flatMap(({ refused }) => refused)
      .map(({ received, key, refusal }) =>
        entry(received.messageId, { dead: deadOf(received, key, refusal) }),
      ),
    ...each
      .flatMap(({ understood }) => understood)
      .sort((a, b) => (a.stamp < b.stamp ? -1 : 1))
      .map((command) => entry(command.received.messageId, { understood: command })),
  ];
}

/** A message on which Carillon itself fails stays on the queue. The others are applied. */
function orStay<Read>({ deps, stay }: Run, messageId: string, act: () => Read, otherwise: Read): Read {
  try {
    return act();
  } catch (error) {
    stay.add(messageId);
    deps.log.error("ingest.failed", { messages: 1, error: errorText(error) });
    return otherwise;
  }
}

function unread({ messageId, place, command, refusal }: NotUnderstood): DeadCommand {
  return { messageId, place, commandId: null, at: null, key: null, refusal, command };
}

/**
 * Applies entries in one transaction. If that fails for a reason that will not pass, or is too much
 * for one transaction, it is tried in halves or smaller parts, down to the failing command. The
 * message of that command stays, and SQS moves it to the dead-letter queue in the end.
 */
async function applyEntries(run: Run, entries: readonly Entry[]): Promise<void> {
  const messages = [...new Set(entries.map(({ messageId }) => messageId))];
  try {
    // Messages that were read in time are tried even if reading took the rest of the time.
    // Otherwise the next delivery would repeat the same reading.
    if (run.begun && run.timeIsUp()) throw new OutOfTime();
    run.begun = true;
    await applyTogether(run, entries);
  } catch (error) {
    if (isPassing(error) || error instanceof OutOfTime || entries.length === 1) {
      for (const messageId of messages) run.stay.add(messageId);
      run.deps.log.error("ingest.failed", { messages: messages.length, error: errorText(error) });
      return;
    }
    const keyOf = ({ understood }: Entry) => understood?.operation.key;
    const order = error instanceof TooManyJobs ? byShard(entries, error.shards, keyOf) : entries;
    for (const part of inParts(order, error)) await applyEntries(run, part);
  }
}

class OutOfTime extends Error {
  override readonly name = "OutOfTime";

  constructor() {
    super("The invocation ran out of time.");
  }
}

async function applyTogether(
  { deps, now, count, stay, early }: Run,
  entries: readonly Entry[],
): Promise<void> {
  const commands = entries.flatMap(({ understood }) => (understood === undefined ? [] : [understood]));
  const dead = entries.flatMap((each) => (each.dead === undefined ? [] : [each.dead]));
  const mayWait = ({ received: { sentAt } }: Understood) => now.getTime() - sentAt.getTime() < earlyMs;
  const outcomes = await applyChunk(deps, { commands, dead, mayWait });
  count.refused += dead.length;
  for (const [{ received, operation }, outcome] of outcomes) {
    if (outcome.became === "applied") count.applied += 1;
    else if (outcome.became === "passed-over") count.passedOver += 1;
    else if (outcome.became === "refused") {
      count.refused += 1;
      dead.push(deadOf(received, operation.key, outcome.refusal));
    } else {
      count.early += 1;
      early.add(received.messageId);
      stay.add(received.messageId);
    }
  }
  const unsent = await tellDead(deps, dead, new Map(entries.map(({ messageId, body }) => [messageId, body])));
  for (const messageId of unsent) stay.add(messageId);
}

/**
 * Sends dead commands to the dead-letter queue unless they have been sent. Returns the messages
 * with a command that did not arrive: they come again.
 */
async function tellDead(
  { sql, queue, queues, log }: QueueDeps,
  dead: readonly DeadCommand[],
  bodies: ReadonlyMap<string, string>,
): Promise<string[]> {
  if (dead.length === 0) return [];
  const messageIds = [...new Set(dead.map(({ messageId }) => messageId))];
  const noted = await untold(sql, messageIds);
  const ids = new Map(noted.map(({ id, messageId, place }) => [`${messageId} ${place}`, id]));
  const letters = dead
    .filter(({ messageId, place }) => ids.has(`${messageId} ${place}`))
    .map((each): DeadLetter => ({ ...each, body: bodyOf(each, bodies.get(each.messageId) ?? "") }));
  for (const { messageId, commandId, key, refusal } of letters)
    log.warn("ingest.refused", { message: messageId, command: commandId, key, kind: refusal.kind });
  try {
    const arrived = await sendDeadLetters({ sqs: queue.sqs, url: queues.deadUrl }, letters);
    await markTold(
      sql,
      arrived.flatMap(({ messageId, place }) => ids.get(`${messageId} ${place}`) ?? []),
    );
    const left = letters.filter((letter) => !arrived.includes(letter));
    return left.map(({ messageId }) => messageId);
  } catch (error) {
    log.error("ingest.untold", { commands: letters.length, error: errorText(error) });
    return messageIds;
  }
}

/** A command that is valid JSON is sent alone, with the id and the time that it was given. */
function bodyOf({ command, commandId, at }: DeadCommand, body: string): string {
  if (command === undefined) return body;
  if (typeof command !== "object" || command === null || Array.isArray(command))
    return JSON.stringify(command);
  const given = commandId === null || at === null ? {} : { id: commandId, at: at.toISOString() };
  return JSON.stringify({ ...given, ...command });
}

/**
 * Shortens the visibility timeout of messages that wait for another command. A slow queue may leave
 * no time for all of them: if the function is killed meanwhile, every message comes again,
 * including those that were applied.
 */
async function comeSoon(
  { deps: { queue, queues, log }, early, timeIsUp }: Run,
  records: readonly SQSRecord[],
): Promise<void> {
  const waiting = records.filter(({ messageId }) => early.has(messageId));
  for (let from = 0; from < waiting.length && !timeIsUp(); from += 10) {
    const Entries = waiting.slice(from, from + 10).map(({ receiptHandle }, index) => ({
      Id: String(index),
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: earlyAgainSeconds,
    }));
    try {
      await queue.sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queues.url, Entries }));
    } catch (error) {
      log.warn("ingest.not-soon", { messages: Entries.length, error: errorText(error) });
      if (gotNoAnswer(error)) return;
    }
  }
}
