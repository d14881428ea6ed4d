import type { Tx } from "../db/connect.ts";
import { findSchedules } from "../schedule/stored/stored-schedule.ts";
import { sealAhead } from "../sealing/seal-credentials.ts";
import { readSealingKeys } from "../sealing/sealing-keys.ts";
import { bodyAfter } from "./foresee-runs.ts";
import type { Operation } from "./operation.ts";

/**
 * Seals the credentials of puts and patches before a transaction takes locks that others wait for: a
 * batch of 1,000 may have 22,000 of them, and each takes a third of a millisecond. The texts are
 * remembered. This decides nothing: the transaction seals a value of which it finds no text.
 */
export async function foreseeCredentials(tx: Tx, operations: readonly Operation[]): Promise<void> {
  const concerned = operations.filter(namesWebhook);
  if (concerned.length === 0) return;
  const patched = concerned.flatMap(({ kind, key }) => (kind === "patch" ? [key] : []));
  // A credential belongs to the host of the URL, which a patch may leave as it is.
  const found = patched.length === 0 ? [] : await findSchedules(tx, [...new Set(patched)]);
  const before = new Map(found.map(({ key, body }) => [key, body]));
  const wanted = concerned.flatMap((operation) => {
    const { key } = operation;
    const target = bodyAfter(before.get(key), operation)?.target;
    return target === undefined ? [] : [{ key, target }];
  });
  const [newest] = await readSealingKeys(tx);
  if (newest !== undefined) await sealAhead(wanted, newest);
}

function namesWebhook(operation: Operation): boolean {
  if (operation.kind === "put") return "webhook" in operation.body.target;
  if (operation.kind !== "patch") return false;
  const target: unknown = Object(operation.patch).target;
  return typeof target === "object" && target !== null && "webhook" in target;
}
