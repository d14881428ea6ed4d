import type { PrefixWeight } from "../config/prefix-weights.ts";
import type { Sql } from "../db/connect.ts";
import { makeTeam } from "./team-list.ts";

/** Replaces the weights of all prefixes: those without one have the weight 1. The next tick and claim follow. */
export async function defineWeights(sql: Sql, weights: readonly PrefixWeight[]): Promise<void> {
  await sql.begin(async (tx) => {
    for (const { prefix } of weights) await makeTeam(tx, prefix);
    await tx`
      update carillon.teams t set weight = coalesce(w.weight, 1)
      from (select t.id, w.weight from carillon.teams t
        left join unnest(${weights.map(({ prefix }) => prefix)}::text[], ${weights.map(({ weight }) => weight)}::smallint[]) w (prefix, weight)
          on w.prefix = t.prefix) w
      where w.id = t.id and t.weight <> coalesce(w.weight, 1)`;
  });
}
