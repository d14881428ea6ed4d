import type { Sql } from "../db/connect.ts";
import type { HandlerTraits } from "../job/handler-traits.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";

type Limited = Pick<HandlerTraits, "name" | "concurrency" | "rate">;

/**
 * Stores the limits that the deployed handlers define, and returns how many targets this changed.
 * Limits that were set through the API stay in force.
 */
export async function defineLimits(sql: Sql, handlers: readonly Limited[]): Promise<number> {
  const [defined] = await sql<{ changed: number }[]>`
    select carillon.define_limits(${handlers.map(({ name }) => `handler/${name}`)}::text[],
      ${handlers.map(({ concurrency }) => concurrency)}::int[], ${handlers.map(({ rate }) => rate?.count ?? null)}::int[],
      ${handlers.map(({ rate }) => rate?.perMs ?? null)}::int[]) as changed`;
  return defined?.changed ?? 0;
}

interface Loaded {
  handlers: readonly HandlerTraits[];
  /** The handlers could not be loaded: what they define is not known. */
  handlersFault?: Error | undefined;
}

/**
 * Stores the limits and groups that handlers define, once per function instance, before its first
 * event. If that fails, or they are not known, events are handled with the stored ones. After a
 * failure the next event tries again.
 */
export function definedOnce(sql: Sql, log: Log, { handlers, handlersFault }: Loaded): () => Promise<void> {
  if (handlersFault !== undefined) return async () => {};
  let defined: Promise<void> | undefined;
  return () => {
    defined ??= Promise.all([defineLimits(sql, handlers), defineGroups(sql, handlers)]).then(
      ([changed]) => {
        if (changed > 0) log.info("limits.defined", { targets: changed });
      },
      (error: unknown) => {
        defined = undefined;
        log.warn("limits.not-defined", { error: errorText(error) });
      },
    );
    return defined;
  };
}

/**
 * Stores which handlers take all due jobs of a group together, if that has changed. The ticks apply
 * a change to the schedules of these handlers.
 */
export async function defineGroups(
  sql: Sql,
  handlers: readonly Pick<HandlerTraits, "name" | "grouped">[],
): Promise<void> {
  await sql`
    select carillon.note_grouped(${handlers.map(({ name }) => `handler/${name}`)}::text[], ${handlers.map(({ grouped }) => grouped)}::boolean[])`;
}
