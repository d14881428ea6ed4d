import { randomBytes } from "node:crypto";
import { BoundedMap } from "../bounded-map.ts";
import type { Tx } from "../db/connect.ts";
import type { VaultPair } from "./key-vault.ts";

/** A key that credentials are sealed with, as far as the functions that seal may know it. */
export interface SealingKey {
  id: number;
  publicKey: Buffer;
  /** The key of the hashes that tell equal values. */
  printKey: Buffer;
}

/** All keys, the newest first. It seals; the others belong to credentials that are not sealed again yet. */
export async function readSealingKeys(tx: Tx): Promise<SealingKey[]> {
  return tx<SealingKey[]>`
    select id, public_key as "publicKey", print_key as "printKey" from carillon.sealing_keys order by id desc`;
}

/**
 * Reads the private keys with these ids as they are stored, in base64, and remembers them: a key
 * never changes.
 */
export function rememberedKeys(sql: Tx): (ids: readonly number[]) => Promise<Record<string, string>> {
  const known = new BoundedMap<number, string>(100);
  return async (ids) => {
    const unknown = ids.filter((id) => !known.has(id));
    if (unknown.length > 0) {
      const rows = await sql<{ id: number; key: Buffer }[]>`
        select id, sealed_private_key as key from carillon.sealing_keys where id = any(${unknown}::int[])`;
      for (const { id, key } of rows) known.set(id, key.toString("base64"));
    }
    const found = ids.flatMap((id) => {
      const key = known.get(id);
      return key === undefined ? [] : [[String(id), key]];
    });
    return Object.fromEntries(found);
  };
}

const printKeyBytes = 32;

/** Stores a new pair, which seals from now on. Returns its id. */
export async function addSealingKey(
  tx: Tx,
  { publicKey, sealedPrivateKey }: VaultPair,
  madeBy: string,
): Promise<number> {
  const [row] = await tx<{ id: number }[]>`
    insert into carillon.sealing_keys (public_key, sealed_private_key, print_key, made_at, made_by)
    values (${Buffer.from(publicKey)}, ${Buffer.from(sealedPrivateKey)}, ${randomBytes(printKeyBytes)}, carillon.clock(), ${madeBy})
    returning id`;
  if (row === undefined) throw new Error("The new sealing key has no row.");
  return row.id;
}
