import type { Sql } from "../db/connect.ts";
import type { HandlerTraits } from "../job/handler-traits.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";

type Limited = Pick<HandlerTraits, "name" | "concurrency" | "rate">;

/** Takes over the limits that the deployed handlers define, where they are news. What the API has set stays in force. */
export async function defineLimits(sql: Sql, handlers: readonly Limited[]): Promise<number> {
  const [defined] = await sql<{ changed: number }[]>`
    select carillon.define_limits(${handlers.map(({ name }) => `handler/${name}`)}::text[],
      ${handlers.map(({ concurrency }) => concurrency)}::int[], ${handlers.map(({ rate }) => rate?.count ?? null)}::int[],
      ${handlers.map(({ rate }) => rate?.perMs ?? null)}::int[]) as changed`;
  return defined?.changed ?? 0;
}

/**
 * For a function that has just started: takes them over ahead of its first event. Where that fails the event is served all the same, by
 * the limits of before, and the next one tries again.
 */
export function definedOnce(sql: Sql, log: Log, handlers: readonly HandlerTraits[]): () => Promise<void> {
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

/** Which handlers take all due jobs of a group together, where that is news; the ticks see to it that their schedules follow. */
export async function defineGroups(
  sql: Sql,
  handlers: readonly Pick<HandlerTraits, "name" | "grouped">[],
): Promise<void> {
  await sql`
    select carillon.note_grouped(${handlers.map(({ name }) => `handler/${name}`)}::text[], ${handlers.map(({ grouped }) => grouped)}::boolean[])`;
}
