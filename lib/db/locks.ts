import type { Tx } from "./connect.ts";

/**
 * The lock order, everywhere: inbox → labels → plan lock → gate → schedule row → parcels (by id) → target → parcels that wait at a target →
 * lanes → parcels that wait in a lane → jobs. Inbox, labels (groups and tags), plan lock, gate, targets and lanes are transaction-level
 * advisory locks; their class ids (7, 5, 1, 2, 6 and 4; 3 is used by carillon.attach_days, 9 for seats at a target) are reserved in the whole
 * database. So is 8, the lock of a session, with which one migrates at a time, and of a transaction, in which one gives roles their logins: no
 * function takes it.
 *
 * | actor                        | plan lock | gate      | lanes (carillon.lock_lanes)      |
 * | tick                         | exclusive | –         | –                                |
 * | create                       | shared    | –         | –                                |
 * | edit, pause, resume, delete  | shared    | exclusive; none in a batch for what has no jobs (lib/batch/pulses-without-jobs.ts) | its own, where overlap is not `allow`; those of its group before and after |
 * | claim (inside claim_parcel)  | –         | shared    | those of its jobs that have one  |
 * | … of several (claim_parcels) | –         | shared, ascending | none: whose jobs have one is left alone |
 * | … along with one (claim_company) | –     | shared, by a try | none, as those of several |
 * | settle                       | –         | –         | those that its jobs passed       |
 * | handler's own transaction    | shared    | exclusive | all of its schedules'; see lib/batch/edits-inside.ts |
 * | cancel of jobs               | –         | shared    | those of its jobs, after the targets at which they wait |
 * | retry of jobs                | –         | shared    | –                                |
 * | sweep                        | –         | –         | those of jobs that are dead by it; apart, of those that wait |
 *
 * Lanes are locked by keys, ascending: those of schedules by shard and a hash, a few keys a shard; those of groups, which reach over
 * shards, by a hash below zero. Who has them wants no parcel of others but those that wait in these very lanes, and what waits in a lane
 * is changed by nobody without its lock: so no circle can close. Who passes the lane of a grouped handler brings jobs of other shards
 * along, and takes their gates and rows only where nobody has them (`try`, `skip locked`); who settles takes the lane into which an
 * edit has moved a job meanwhile only so, too.
 *
 * A claim or settle locks the one target of its parcel (6) before it lets it go on, and whoever has a target locked changes of the
 * parcels there only those that wait, which nobody else waits for, and with `skip locked` those that have been given a turn. Where nothing but
 * its share bounds a target, who comes where there is room locks it shared and takes a seat (9) after it; who goes where nobody waits locks it
 * shared; who has been given a turn locks nothing, nor does who claims others that wait there, or could start, along with its own (its own row first, and theirs with
 * `skip locked`), so that who gives turns away passes those over. Nobody who has it shared comes to want it alone: what was locked is let go of before. A
 * change of limits locks the target before its row. The sweep goes from target to target, one transaction each.
 *
 * Then, and with no lock of this list to come but of parcels that nobody else has: cadences and targets that are new, each by their
 * values, and the keys of new schedules, ascending. Who makes one has others wait for it. So does a target that is marked as unused: a put
 * that names it locks its row and takes the mark off, the tick that deletes it passes over rows that are locked, and a put that comes
 * meanwhile waits for the delete and makes the target again. A target without a mark is named without a lock.
 *
 * Who creates a schedule with a group or tags, or edits one into them, locks these labels shared and then reads which holds they
 * have; so does who carries a hold to members. Who sets or releases a hold of a label locks it exclusively, and nothing after it. So
 * whoever comes under the label is either seen by the walk through its members or sees the hold itself.
 *
 * Who applies commands of the SQL inbox has it locked exclusively, who applies those of the queue shared, and then the marks of its keys.
 *
 * Each is a statement of its own: what is read in the same statement is read from a snapshot older than the lock.
 * And each is sent when it is asked for, by `execute`: the driver sends other statements only when somebody awaits them, so
 * that a read asked for after a lock, and awaited first, would go before it.
 */
export const planLock = 1;
export const gate = 2;
export const labelLock = 5;
export const targetLock = 6;
export const inboxLock = 7;
export const migrationLock = 8;

/**
 * For the parts of a batch that has failed, of which about twenty are tried: should one row of it be locked for long, each attempt waits so
 * long for it, and others for the locks that the attempt has.
 */
export function waitBriefly(tx: Tx): PromiseLike<unknown> {
  return tx`set local lock_timeout = '500ms'`.execute();
}

/**
 * For rows of a batch of house keeping, once the locks are held that all of them need. One part of the tick has two seconds in its turn: a locked row
 * among hundreds is found by about ten attempts, and all of them fit. A row that is tried alone has longer, since an edit may be about to end.
 */
export function waitForRows(tx: Tx, together: number): PromiseLike<unknown> {
  return together > 1 ? tx`set local lock_timeout = '100ms'`.execute() : waitBriefly(tx);
}

/** Whoever applies commands of the inbox does so alone: those of one key stay in their order. */
export function lockInbox(tx: Tx): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${inboxLock}::int, 0)`.execute();
}

/** Whoever applies commands of the queue: the inbox then sees all that it did with their keys, or nothing. */
export function lockInboxShared(tx: Tx): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock_shared(${inboxLock}::int, 0)`.execute();
}

/** In one order, whoever asks. */
export function lockLabelsShared(tx: Tx, labels: readonly string[]): PromiseLike<unknown> {
  if (labels.length === 0) return Promise.resolve();
  return tx`
    select pg_advisory_xact_lock_shared(${labelLock}::int, label) from (
      select distinct hashtext(l) as label from unnest(${[...labels]}::text[]) l order by label) l`.execute();
}

export function lockLabel(tx: Tx, label: string): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${labelLock}::int, hashtext(${label}))`.execute();
}

/** Nobody is given a turn at the target until the transaction ends. */
export function lockTarget(tx: Tx, target: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${targetLock}::int, ${target}::int)`.execute();
}

/** Where something changes in a schedule's lanes: its own, and that of its group. */
export function lockLane(tx: Tx, scheduleId: string): PromiseLike<unknown> {
  return tx`select carillon.lock_lanes(array[${scheduleId}::bigint])`.execute();
}

/** A schedule's own lane, and these of groups. */
export function lockLanes(tx: Tx, scheduleId: string, lanes: readonly string[]): PromiseLike<unknown> {
  const ofGroups = lanes.filter((lane) => !lane.startsWith("schedule/"));
  return tx`select carillon.lock_lanes(array[${scheduleId}::bigint], ${ofGroups}::text[])`.execute();
}

/** Postgres fails the second of two who alter a role at once. Apart from the lock of migrations, which may be kept for hours. */
export function lockLogins(tx: Tx): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${migrationLock}::int, 1)`.execute();
}

export function lockPlan(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${planLock}::int, ${shard}::int)`.execute();
}

/** Those of these shards whose plan lock nobody has; they are the caller's now. Nobody is waited for, so the order does not matter. */
export async function tryLockPlans(tx: Tx, shards: readonly number[]): Promise<number[]> {
  const locked = await tx<{ shard: number }[]>`
    select shard from unnest(${[...shards]}::int[]) shard where pg_try_advisory_xact_lock(${planLock}::int, shard)`;
  return locked.map(({ shard }) => shard);
}

export function lockPlanShared(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock_shared(${planLock}::int, ${shard}::int)`.execute();
}

/** Several, ascending, as whoever takes more than one must. */
export function lockPlansShared(tx: Tx, shards: readonly number[]): PromiseLike<unknown> {
  return tx`
    select pg_advisory_xact_lock_shared(${planLock}::int, shard) from (
      select distinct s as shard from unnest(${[...shards]}::int[]) s order by s) s`.execute();
}

export function closeGates(tx: Tx, shards: readonly number[]): PromiseLike<unknown> {
  return tx`
    select pg_advisory_xact_lock(${gate}::int, shard) from (
      select distinct s as shard from unnest(${[...shards]}::int[]) s order by s) s`.execute();
}

export function closeGate(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${gate}::int, ${shard}::int)`.execute();
}
