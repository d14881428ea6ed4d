import type { Tx } from "./connect.ts";

/**
 * The lock order, everywhere: plan lock → gate → schedule row → parcels (by id) → jobs. The first two are transaction-level
 * advisory locks by shard; their class ids (1 and 2; 3 is used by carillon.attach_days) are reserved in the whole database.
 *
 * | actor                        | plan lock | gate      |
 * | tick                         | exclusive | –         |
 * | create                       | shared    | –         |
 * | edit, pause, resume, delete  | shared    | exclusive |
 * | claim (inside claim_parcel)  | –         | shared    |
 *
 * Each is a statement of its own: what is read in the same statement is read from a snapshot older than the lock.
 * And each is sent when it is asked for, by `execute`: the driver sends other statements only when somebody awaits them, so
 * that a read asked for after a lock, and awaited first, would go before it.
 */
export const planLock = 1;
export const gate = 2;

export function lockPlan(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${planLock}::int, ${shard}::int)`.execute();
}

export function lockPlanShared(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock_shared(${planLock}::int, ${shard}::int)`.execute();
}

export function closeGate(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${gate}::int, ${shard}::int)`.execute();
}
