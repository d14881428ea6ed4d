import type { SQSRecord } from "aws-lambda";
import * as z from "zod";
import { refuseInexactNumbers } from "../command/exact-numbers.ts";
import { refuseDeep } from "../command/json-depth.ts";
import { asRefused, type Fault, Refusal, type Refused } from "../refusal.ts";
import { instantShape } from "../schedule/shape/instant-shape.ts";
import { shapeFaults } from "../schedule/shape/shape-faults.ts";
import { storableText } from "../schedule/shape/text.ts";

/** The most commands in one message. */
export const commandsMax = 1_000;

/** A command as its message delivered it. */
export interface Received {
  messageId: string;
  /** The position in its message, from 0. */
  place: number;
  /** The time at which its message was sent. */
  sentAt: Date;
  id: string;
  at: Date;
  /** The operation, without `id` and `at`. */
  input: unknown;
  /** The command as it came. */
  command: unknown;
  /** Whether its message has been delivered before. */
  isAgain: boolean;
}

/** A command or a whole message that could not be read. */
export interface NotUnderstood {
  messageId: string;
  place: number;
  /** The command as it came; undefined if the message is not JSON. */
  command: unknown;
  refusal: Refused;
}

export type ReadMessage = (Received | NotUnderstood)[];

/**
 * A message is a command, an array of commands, or `{ "commands": […] }`. Each command may have its
 * own `id` and `at`.
 */
export function readMessage(record: Pick<SQSRecord, "messageId" | "body" | "attributes">): ReadMessage {
  const { messageId, attributes } = record;
  const sentAt = new Date(Number(attributes.SentTimestamp));
  const isAgain = Number(attributes.ApproximateReceiveCount) > 1;
  try {
    const read = commandsIn(record.body);
    const alone = read.length === 1;
    return read.map((command, place) =>
      readOne(command, { messageId, place, sentAt, givenAt: sentAt, alone, isAgain }),
    );
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return [{ messageId, place: 0, command: undefined, refusal: asRefused(error) }];
  }
}

const wrapper = z.strictObject({ commands: z.array(z.unknown()) });

function commandsIn(body: string): unknown[] {
  const value = parsed(body);
  const commands = listed(value);
  if (commands.length === 0 || commands.length > commandsMax)
    throw notUnderstood([
      { path: "", message: `takes 1 to ${commandsMax} commands, has ${commands.length}` },
    ]);
  return commands;
}

function listed(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null || !("commands" in value)) return [value];
  const { success, data, error } = wrapper.safeParse(value, { reportInput: true });
  if (!success) throw notUnderstood(shapeFaults(error));
  return data.commands;
}

function parsed(body: string): unknown {
  refuseDeep(body, "message");
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The engine's error text quotes the message, which may hold a secret.
    throw new Refusal("invalid", "The message is not JSON.");
  }
  refuseInexactNumbers(body);
  return value;
}

const head = z.object({ id: storableText({ max: 200 }).optional(), at: instantShape.optional() });

interface Place {
  messageId: string;
  place: number;
  sentAt: Date;
  /** The time of the command if it names none. */
  givenAt: Date;
  alone: boolean;
  isAgain: boolean;
}

function readOne(
  command: unknown,
  { messageId, place, sentAt, givenAt, alone, isAgain }: Place,
): Received | NotUnderstood {
  const { id, at, rest } = split(command);
  const read = head.safeParse({ id, at }, { reportInput: true });
  if (!read.success)
    return { messageId, place, command, refusal: asRefused(notUnderstood(shapeFaults(read.error))) };
  return {
    messageId,
    place,
    sentAt,
    id: read.data.id ?? (alone ? messageId : `${messageId}/${place}`),
    at: read.data.at ?? givenAt,
    input: rest,
    command,
    isAgain,
  };
}

/**
 * A kept command, as its message delivered it. It was sent before it was refused: its own time says nothing about
 * that, and may lie far ahead.
 */
export function commandWith(kept: {
  messageId: string;
  place: number;
  commandId: string | null;
  at: Date | null;
  refusedAt: Date;
  command: unknown;
}): Received {
  const { messageId, place, commandId, refusedAt, command } = kept;
  const times = { sentAt: refusedAt, givenAt: kept.at ?? refusedAt };
  const read = readOne(command, { messageId, place, ...times, alone: false, isAgain: true });
  if ("refusal" in read) throw new Refusal(read.refusal.kind, read.refusal.message, read.refusal.faults);
  return commandId === null ? read : { ...read, id: commandId };
}

/** A value that is not an object is passed on: the reader of operations names the fault. */
function split(command: unknown): { id?: unknown; at?: unknown; rest: unknown } {
  if (typeof command !== "object" || command === null || Array.isArray(command)) return { rest: command };
  const members = new Map<string, unknown>(Object.entries(command));
  const [id, at] = [members.get("id"), members.get("at")];
  members.delete("id");
  members.delete("at");
  return { id, at, rest: Object.fromEntries(members) };
}

function notUnderstood(faults: readonly Fault[]): Refusal {
  return new Refusal("invalid", "The command is not understood.", faults);
}
