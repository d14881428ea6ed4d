import * as z from "zod";
import type { Tx } from "../db/connect.ts";
import type { Refused } from "../refusal.ts";
import { isJson } from "../schedule/shape/json.ts";
import { storablePart } from "../schedule/shape/text.ts";

/** A command that was not applied, as the transaction that refused it records it. */
export interface DeadCommand {
  messageId: string;
  place: number;
  commandId: string | null;
  at: Date | null;
  key: string | null;
  refusal: Refused;
  /** The command as it came; undefined if its message could not be read. */
  command: unknown;
}

export interface DeadCommandRead {
  id: string;
  messageId: string;
  place: number;
  commandId: string | null;
  at: Date | null;
  key: string | null;
  /** The prefix of the keys that its queue reaches; null for all keys. */
  queuePrefix: string | null;
  refusedAt: Date;
  refusal: Refused;
  command: unknown;
}

/**
 * Whether the command names a key that its queue does not reach. The sender chose that key, and the
 * team of the key has nothing to do with it.
 */
export function isBeyondQueue({ key, queuePrefix }: Pick<DeadCommandRead, "key" | "queuePrefix">): boolean {
  return key !== null && queuePrefix !== null && !key.startsWith(queuePrefix);
}

/** SQL: `isBeyondQueue` is false, in the words of the index on keys. */
export const isWithinQueue = (tx: Tx) => tx`(queue_prefix is null or starts_with(key, queue_prefix))`;

/** Larger commands are kept by the dead-letter queue alone. */
const storedCharactersMax = 300_000;

/** Records each command of one queue once, however often its message comes. */
export async function noteDead(
  tx: Tx,
  dead: readonly DeadCommand[],
  queuePrefix: string | null,
): Promise<void> {
  if (dead.length === 0) return;
  await tx`
    insert into carillon.dead_commands (message_id, place, command_id, at, key, queue_prefix, refused_at, refusal, command)
    select message_id, place, command_id, at, key, ${queuePrefix}::text, carillon.clock(), refusal::jsonb, command::jsonb
    from unnest(${dead.map(({ messageId }) => messageId)}::text[], ${dead.map(({ place }) => place)}::int[],
      ${dead.map(({ commandId }) => commandId)}::text[], ${dead.map(({ at }) => at?.toISOString() ?? null)}::timestamptz[],
      ${dead.map(({ key }) => (key === null ? null : storablePart(key)))}::text[],
      ${dead.map(({ refusal }) => JSON.stringify(refusal, storableMember))}::text[],
      ${dead.map(({ command }) => storedText(command))}::text[]) d (message_id, place, command_id, at, key, refusal, command)
    on conflict (message_id, place) do nothing`;
}

/** Text that the database cannot store goes to the dead-letter queue alone. */
function storedText(command: unknown): string | null {
  if (command === undefined || !isJson(command)) return null;
  const text = JSON.stringify(command);
  return text.length > storedCharactersMax ? null : text;
}

function storableMember(_name: string, value: unknown): unknown {
  return typeof value === "string" ? storablePart(value) : value;
}

/** Deletes the records of commands that were refused in an earlier delivery and are applied now. */
export async function forgetDead(
  tx: Tx,
  applied: readonly { messageId: string; place: number }[],
): Promise<void> {
  if (applied.length === 0) return;
  await tx`
    delete from carillon.dead_commands d
    using unnest(${applied.map(({ messageId }) => messageId)}::text[], ${applied.map(({ place }) => place)}::int[]) a (message_id, place)
    where d.message_id = a.message_id and d.place = a.place`;
}

/** The dead commands of these messages that have not been sent to the dead-letter queue. */
export async function untold(
  sql: Tx,
  messageIds: readonly string[],
): Promise<{ id: string; messageId: string; place: number }[]> {
  return sql`
    select id, message_id as "messageId", place from carillon.dead_commands
    where message_id = any(${messageIds}::text[]) and not told order by id`;
}

export async function markTold(sql: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0)
    await sql`update carillon.dead_commands set told = true where id = any(${ids}::bigint[]) and not told`;
}

const refusalShape = z.object({
  kind: z.enum(["invalid", "forbidden", "missing", "conflict", "precondition", "impossible", "quota"]),
  message: z.string(),
  faults: z.array(z.object({ path: z.string(), message: z.string() })).default([]),
  movedTo: z.string().optional(),
});

interface Row extends Omit<DeadCommandRead, "refusal"> {
  refusal: unknown;
}

const columns = (sql: Tx) => sql`
  id, message_id as "messageId", place, command_id as "commandId", at, key, queue_prefix as "queuePrefix",
  refused_at as "refusedAt", refusal, command`;

export interface DeadSearch {
  /** The beginning of the keys. */
  prefix?: string | undefined;
  /** Leaves out commands for keys that their queue does not reach. */
  isForTeam: boolean;
  limit: number;
  /** The id at which the page before ended. */
  before?: string | undefined;
}

/** The most rows that one answer of a prefix reads before it returns the matches and a place to continue. */
const lookedMax = 5_000;

/** Newest first. A page may be shorter than `limit` and still have a `next`. */
export async function listDeadCommands(
  sql: Tx,
  { prefix, isForTeam, limit, before }: DeadSearch,
): Promise<{ items: DeadCommandRead[]; next?: string }> {
  const looks = prefix === undefined ? limit + 1 : lookedMax;
  const places = await sql<{ id: string; fits: boolean }[]>`
    select id, ${prefix === undefined ? sql`true` : sql`coalesce(starts_with(key, ${prefix}), false)`}
      and ${isForTeam ? sql`coalesce(${isWithinQueue(sql)}, false)` : sql`true`} as fits
    from carillon.dead_commands ${before === undefined ? sql`` : sql`where id < ${before}`}
    order by id desc limit ${looks}`;
  const fitting = places.filter(({ fits }) => fits).slice(0, limit);
  const last = fitting.length === limit ? fitting.at(-1) : places.at(-1);
  const isEnd = places.length < looks && last?.id === places.at(-1)?.id;
  const rows = await sql<Row[]>`
    select ${columns(sql)} from carillon.dead_commands where id = any(${fitting.map(({ id }) => id)}::bigint[]) order by id desc`;
  const items = rows.map(toRead);
  return last === undefined || isEnd ? { items } : { items, next: last.id };
}

export async function readDeadCommand(sql: Tx, id: string): Promise<DeadCommandRead | null> {
  const [row] = await sql<Row[]>`select ${columns(sql)} from carillon.dead_commands where id = ${id}`;
  return row === undefined ? null : toRead(row);
}

/** False if there is no such command. */
export async function deleteDeadCommand(tx: Tx, id: string): Promise<boolean> {
  const gone = await tx`delete from carillon.dead_commands where id = ${id}`;
  return gone.count > 0;
}

function toRead({ refusal, ...row }: Row): DeadCommandRead {
  return { ...row, refusal: refusalShape.parse(refusal) };
}
