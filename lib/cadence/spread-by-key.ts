import { createHash } from "node:crypto";

/**
 * A number from 0 to below `size`, always the same for a key and a field, and evenly spread over
 * keys. Stored schedules depend on it, so it never changes.
 */
export function placeByKey(key: string, field: string, size: number): number {
  const digest = createHash("sha256").update(`H ${field} ${key}`).digest();
  return Number(digest.readBigUInt64BE() % BigInt(size));
}
