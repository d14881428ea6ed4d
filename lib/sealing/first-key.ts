import type { Sql } from "../db/connect.ts";
import { addSealingKey } from "./sealing-keys.ts";
import type { VaultAccess } from "./vault-request.ts";

/**
 * Makes a key where there is none, or none that this vault opens: the database was restored
 * elsewhere. The credentials that the older keys sealed then have to be sent again. Two deployments
 * at once may both make one: then the newer one seals, and both open.
 */
export async function ensureSealingKey(
  sql: Sql,
  vault: Pick<VaultAccess, "makePair" | "opens">,
  madeBy: string,
): Promise<"found" | "made" | "made again"> {
  const [newest] = await sql<{ key: Buffer }[]>`
    select sealed_private_key as key from carillon.sealing_keys order by id desc limit 1`;
  if (newest !== undefined && (await vault.opens(newest.key))) return "found";
  await addSealingKey(sql, await vault.makePair(), madeBy);
  return newest === undefined ? "made" : "made again";
}
