import type { Tx } from "./connect.ts";

/**
 * The lock order, everywhere: plan lock → gate → schedule row → parcels (by id) → lanes → parcels that wait in a lane → jobs.
 * Plan lock, gate and lanes are transaction-level advisory locks; their class ids (1, 2 and 4; 3 is used by
 * carillon.attach_days) are reserved in the whole database.
 *
 * | actor                        | plan lock | gate      | lanes (carillon.lock_lanes)      |
 * | tick                         | exclusive | –         | –                                |
 * | create                       | shared    | –         | –                                |
 * | edit, pause, resume, delete  | shared    | exclusive | its own, where overlap is not `allow` |
 * | claim (inside claim_parcel)  | –         | shared    | those of its jobs that have one  |
 * | settle                       | –         | –         | those that its jobs passed       |
 * | sweep                        | –         | –         | those of jobs that are dead by it; apart, of those that wait |
 *
 * Lanes are locked by shard and a hash, a few keys a shard, ascending. Who has them wants no parcel of others but those that
 * wait in these very lanes, and what waits in a lane is changed by nobody without its lock: so no circle can close.
 *
 * Each is a statement of its own: what is read in the same statement is read from a snapshot older than the lock.
 * And each is sent when it is asked for, by `execute`: the driver sends other statements only when somebody awaits them, so
 * that a read asked for after a lock, and awaited first, would go before it.
 */
export const planLock = 1;
export const gate = 2;

/** Where something changes in a schedule's lane. */
export function lockLane(tx: Tx, scheduleId: string): PromiseLike<unknown> {
  return tx`select carillon.lock_lanes(array[${scheduleId}::bigint])`.execute();
}

export function lockPlan(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${planLock}::int, ${shard}::int)`.execute();
}

export function lockPlanShared(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock_shared(${planLock}::int, ${shard}::int)`.execute();
}

export function closeGate(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${gate}::int, ${shard}::int)`.execute();
}
