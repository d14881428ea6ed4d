import { isDeepStrictEqual } from "node:util";
import type { QuotaLimit } from "../config/quota-setting.ts";
import type { Sql } from "../db/connect.ts";
import { makeTeam, readLimits } from "./team-list.ts";

/** Replaces the limits of the deployment, if they differ. Running functions follow with their next edit. */
export async function defineQuotas(sql: Sql, limits: readonly QuotaLimit[]): Promise<void> {
  await sql.begin(async (tx) => {
    // Two deployments at once: the second one waits here, and replaces what the first has written.
    await tx`select from carillon.team_list for update`;
    if (isDeepStrictEqual(inOrder(await readLimits(tx)), inOrder(limits))) return;
    await tx`delete from carillon.quota_limits`;
    await tx`
      insert into carillon.quota_limits (prefix, kind, most)
      select * from unnest(${limits.map(({ prefix }) => prefix)}::text[], ${limits.map(({ kind }) => kind)}::text[],
        ${limits.map(({ most }) => most)}::bigint[])`;
    await tx`update carillon.team_list set mark = gen_random_uuid()`;
    for (const prefix of new Set(limits.map((limit) => limit.prefix)))
      if (prefix !== "") await makeTeam(tx, prefix);
  });
}

function inOrder(limits: readonly QuotaLimit[]): QuotaLimit[] {
  const nameOf = ({ prefix, kind }: QuotaLimit) => `${prefix}=${kind}`;
  return limits
    .toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
    .map((limit) => ({ ...limit }));
}
