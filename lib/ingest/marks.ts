import * as z from "zod";
import type { Operation } from "../batch/operation.ts";
import type { Tx } from "../db/connect.ts";
import { type Memory, nothingKnown } from "./memory.ts";
import { isNewer } from "./stamp.ts";

export interface Mark extends Memory {
  revision: number;
}

const noMark: Mark = { ...nothingKnown, revision: 0 };

const kept = { stamp: z.string(), id: z.string(), at: z.string(), input: z.unknown() };
const laterShape = z.object({
  patches: z.array(z.object(kept)).default([]),
  holds: z.array(z.object({ ...kept, owner: z.string(), kind: z.enum(["pause", "resume"]) })).default([]),
});

interface Row {
  key: string;
  revision: number;
  base: string | null;
  gone: string | null;
  later: unknown;
}

/** Reads the marks of these keys without a lock, so they may change right after. */
export async function readMarks(sql: Tx, keys: readonly string[]): Promise<(key: string) => Mark> {
  const rows = await sql<Row[]>`
    select key, revision, base, gone, later from carillon.command_marks where key = any(${keys}::text[])`;
  const marks = new Map(
    rows.map(({ key, later, ...row }) => [key, { ...row, ...laterShape.parse(later ?? {}) }]),
  );
  return (key) => marks.get(key) ?? noMark;
}

/** Another edit has changed one of the marks, or its schedule, since it was read. */
export class MarksMoved extends Error {
  override readonly name = "MarksMoved";

  constructor() {
    super("The marks or the schedules of the keys have changed since they were read.");
  }
}

/**
 * Locks the marks of these keys until the transaction ends, in the order of keys; throws if one has
 * changed since it was read. All missing rows are inserted first and all rows are locked after: a
 * transaction that waits for another's insert holds no lock yet.
 */
export async function lockMarks(tx: Tx, read: ReadonlyMap<string, Mark>): Promise<void> {
  const keys = [...read.keys()];
  const [, rows] = await Promise.all([
    tx`
      insert into carillon.command_marks (key, seen_on)
      select key, (carillon.clock() at time zone 'UTC')::date from unnest(${keys}::text[]) k (key) order by key collate "C"
      on conflict (key) do nothing`.execute(),
    tx<{ key: string; revision: number }[]>`
      select key, revision from carillon.command_marks where key = any(${keys}::text[]) order by key for update`.execute(),
  ]);
  if (rows.length < keys.length || rows.some(({ key, revision }) => read.get(key)?.revision !== revision))
    throw new MarksMoved();
}

/** Requires `lockMarks`. */
export async function writeMarks(tx: Tx, memories: ReadonlyMap<string, Memory>): Promise<void> {
  if (memories.size === 0) return;
  const all = [...memories];
  await tx`
    update carillon.command_marks m
    set revision = m.revision + 1, base = w.base, gone = w.gone, later = w.later::jsonb, seen_on = (carillon.clock() at time zone 'UTC')::date
    from unnest(${all.map(([key]) => key)}::text[], ${all.map(([, { base }]) => base)}::text[], ${all.map(([, { gone }]) => gone)}::text[],
      ${all.map(([, memory]) => laterText(memory))}::text[]) w (key, base, gone, later)
    where m.key = w.key`;
}

/** Whether a command that did not come through the queue is older than a mark. */
export function isLate(kind: Operation["kind"], stamp: string, { base, gone }: Memory): boolean {
  return !isNewer(stamp, kind === "pause" || kind === "resume" ? gone : base);
}

/**
 * Records deletes that found no schedule, each with its stamp. Requires the inbox lock: while it is
 * held, no transaction that has locked marks goes on to lock a schedule, so no deadlock is
 * possible.
 */
export async function leaveTombstones(tx: Tx, stamps: ReadonlyMap<string, string>): Promise<void> {
  if (stamps.size === 0) return;
  await tx`
    insert into carillon.command_marks as m (key, revision, base, gone, seen_on)
    select key, 1, stamp, stamp, (carillon.clock() at time zone 'UTC')::date
    from unnest(${[...stamps.keys()]}::text[], ${[...stamps.values()]}::text[]) t (key, stamp) order by key collate "C"
    on conflict (key) do update set revision = m.revision + 1, base = greatest(m.base, excluded.base),
      gone = greatest(m.gone, excluded.gone), seen_on = excluded.seen_on`;
}

function laterText({ patches, holds }: Memory): string | null {
  return patches.length + holds.length === 0 ? null : JSON.stringify({ patches, holds });
}
