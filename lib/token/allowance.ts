import type { Tx } from "../db/connect.ts";
import type { Rate } from "../job/rate.ts";
import type { Token } from "./token.ts";

export type Allowance = { given: number } | { given: 0; waitMs: number };

/**
 * Takes up to `wanted` requests from the token's rate. The rate is a bucket that holds one unit's
 * requests and is filled evenly: `100/s` allows 100 at once, and then one every 10 ms.
 */
export async function takeAllowance(
  sql: Tx,
  { id }: Pick<Token, "id">,
  { count, perMs }: Rate,
  wanted: number,
): Promise<Allowance> {
  const first = Math.min(wanted, count);
  const left = sql`greatest(0, a.used - greatest(0, extract(epoch from excluded.at - a.at) * 1000) * ${count / perMs}::float8)`;
  const given = sql`least(${first}, floor(${count} - ${left}))::int`;
  const [row] = await sql<{ given: number; used: number }[]>`
    insert into carillon.token_allowances as a (token_id, at, used, given)
    values (${id}, carillon.clock(), ${first}, ${first})
    on conflict (token_id) do update
    set at = greatest(a.at, excluded.at), given = greatest(0, ${given}), used = ${left} + greatest(0, ${given})
    returning given, used`;
  if (row === undefined) throw new Error("The allowance of a token returned no row.");
  const { given: some, used } = row;
  return some > 0 ? { given: some } : { given: 0, waitMs: Math.ceil(((used + 1 - count) * perMs) / count) };
}
