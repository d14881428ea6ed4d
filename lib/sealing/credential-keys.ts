import type { Sql, Tx } from "../db/connect.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";
import { addSealingKey } from "./sealing-keys.ts";
import type { VaultAccess } from "./vault-request.ts";

/** A key for credentials, as callers see it: without any part of the key itself. */
export interface CredentialKey {
  id: number;
  madeAt: Date;
  madeBy: string;
  /** When a credential that another key had sealed was last sealed with this one. */
  sealedAt: Date | null;
  /** Whether it seals new credentials. */
  current: boolean;
}

/** The newest first. There are few: older ones are deleted when nothing is sealed with them. */
export async function listCredentialKeys(tx: Tx): Promise<CredentialKey[]> {
  return tx<CredentialKey[]>`
    select id, made_at as "madeAt", made_by as "madeBy", sealed_at as "sealedAt",
      id = max(id) over () as current
    from carillon.sealing_keys order by id desc limit 100`;
}

/** Makes a key that seals from now on. The vault is asked before the transaction. */
export async function makeCredentialKey(
  sql: Sql,
  vault: Pick<VaultAccess, "makePair">,
  caller: Caller,
): Promise<CredentialKey> {
  const pair = await vault.makePair();
  return sql.begin(async (tx) => {
    const id = await addSealingKey(tx, pair, caller.name);
    await tx`
      insert into carillon.audit (at, actor, action, subject, detail, origin, prefix)
      values (carillon.clock(), ${caller.name}, 'credential-key.made', ${String(id)}, '{}', ${originText(caller)}::text::jsonb, '')`;
    const made = (await listCredentialKeys(tx)).find((key) => key.id === id);
    if (made === undefined) throw new Error(`The credential key ${id} has no row right after its insert.`);
    return made;
  });
}
