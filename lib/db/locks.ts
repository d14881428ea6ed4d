import type { Tx } from "./connect.ts";

/**
 * The lock order, everywhere: teams → inbox → labels → edit lock → plan lock → gate → schedule row →
 * parcels (by id) → target → parcels that wait at a target → lanes → parcels that wait in a lane →
 * jobs.
 *
 * Teams (of quotas), inbox, labels (groups and tags), edit lock, plan lock, gate, targets and lanes
 * are transaction-level advisory locks. Their class ids are reserved in the whole database: teams 11,
 * inbox 7, labels 5, edit lock 10, plan lock 1, gate 2, targets 6, lanes 4. Class 3 is used by
 * carillon.attach_days, 9 by the seats at a target, 12 by the seats of a team, and 13 by the
 * seats of a team's requests. Class 8 is the session lock that lets one
 * migration run at a time, and a transaction lock while roles get their logins; no function takes it.
 *
 * Three cases leave this order. A transaction that has locked a parcel may lock the parcel's own
 * jobs at any time, since other transactions lock the parcel before its jobs, or skip locked jobs:
 * settle_parcel, settle_parcels and end_lease lock jobs before target and lanes, claim_parcel
 * before lanes. An edit is alone behind its gate and locks jobs before parcels; a settle needs no
 * gate, so the two may meet. A claim whose parcel turns out empty gives up its place last, and may
 * lock the target after the lanes. If two transactions wait for each other because of this,
 * Postgres ends one of them as a deadlock, and it is tried again: an edit (`editConflicts`) and a
 * settle (`settleSurely`) at once, a claim when its message comes again, the end of a lease in
 * parts or by the next sweep.
 *
 * | actor                        | plan lock | gate      | lanes (carillon.lock_lanes)      |
 * | tick                         | exclusive | –         | –                                |
 * | create                       | shared    | –         | –                                |
 * | edit, pause, resume, delete  | shared    | exclusive; none in a batch for schedules without jobs (lib/batch/pulses-without-jobs.ts) | its own, where overlap is not `allow`; those of its group before and after |
 * | claim (inside claim_parcel)  | –         | shared    | those of its jobs that have one  |
 * | claim of several (claim_parcels) | –     | shared, ascending | none: parcels whose jobs have a lane are left alone |
 * | claim of a company (claim_company) | –   | shared, by a try | none, as for several       |
 * | settle                       | –         | –         | those that its jobs passed       |
 * | handler's own transaction    | shared    | exclusive | all of its schedules'; see lib/batch/edits-inside.ts |
 * | cancel of jobs               | –         | shared    | those of its jobs, after the targets at which they wait |
 * | retry of jobs                | –         | shared    | –                                |
 * | take of a move               | shared    | exclusive | those of its jobs, as a cancel   |
 * | arrival of a move            | shared    | shared    | –                                |
 * | sweep                        | –         | –         | those of jobs that it makes dead; in another transaction, those of waiting jobs |
 *
 * The gate lets one edit of a shard pass at a time, so the edits of a shard queue. They queue at the
 * edit lock, where they hold no plan lock, and not at the gate. So the tick waits for one edit and
 * for creates that are under way, and the edits behind wait for the tick. An edit that takes the
 * gate of a shard takes its edit lock first; one without a gate takes neither.
 *
 * Lanes are locked in ascending order of their keys. The keys of schedules' lanes come from the
 * shard and a hash, a few keys for each shard. The lanes of groups reach over shards; their keys
 * are a hash below zero. A transaction that holds lanes locks no parcel that others may hold,
 * except those that wait in these very lanes, and a parcel that waits in a lane changes only under
 * the lock of the lane. So no deadlock is possible. A claim that passes the lane of a grouped
 * handler takes jobs of other shards with it. It takes their gates and rows only where they are
 * free (`try`, `skip locked`). A settle does the same for a lane into which an edit has moved a job
 * meanwhile.
 *
 * A claim or settle locks the one target of its parcel (6) before it lets the parcel go on. Of the
 * parcels at a locked target it changes only those that wait, for which no other transaction waits,
 * and, with `skip locked`, those that have been given a turn. At a target that is limited by its
 * share alone, a claim that finds room locks the target shared, and then takes a seat (9). A claim
 * of a slow parcel of one team takes a seat of the team (12) after that, or after the target. A settle
 * that finds no waiting parcel there locks the target shared. A claim of a parcel that has been
 * given a turn locks no target, and neither does a claim of a company. That claim takes waiting or
 * ready parcels along with its own: it locks its own row first and the others with `skip locked`,
 * and the transaction that gives turns skips those. No transaction upgrades a shared lock of a
 * target to an exclusive one: it releases the shared lock first. A change of limits locks the
 * target before its row. The sweep visits one target per transaction. A settle that gives turns at a
 * second target, for a team that had all workers that it may have, locks that one by a try.
 *
 * After all of these locks come rows that are inserted by value: new cadences and new targets, each
 * by their values, and the keys of new schedules, ascending. Another transaction that inserts the
 * same value waits. After them a transaction takes no lock of this order, except on parcels that no
 * other transaction can hold. A target that is marked as unused works the same way: a put that
 * names it locks its row and removes the mark; the tick that deletes it skips locked rows; a put
 * that arrives meanwhile waits for the delete and creates the target again. A target without a mark
 * is named without a lock.
 *
 * A create with a group or tags, or an edit that adds them, locks these labels shared and then
 * reads their holds. So does the walk that applies a hold to members. Setting or releasing the hold
 * of a label locks the label exclusively, and takes no lock after it. So a schedule that gets the
 * label is either found by the walk through the members or reads the hold itself.
 *
 * Commands of the SQL inbox are applied under the exclusive inbox lock, commands of the queue under
 * the shared one, and then under the marks of their keys.
 *
 * Each lock is a statement of its own: a read in the same statement would use a snapshot older than
 * the lock. And each is sent at once, by `execute`: the driver sends other statements only when
 * they are awaited, so a read that is written after a lock but awaited first would be sent before
 * it.
 */
export const planLock = 1;
export const gate = 2;
export const labelLock = 5;
export const targetLock = 6;
export const inboxLock = 7;
export const editLock = 10;
export const migrationLock = 8;
export const quotaLock = 11;

/** Every class of locks that Carillon uses, by number, those that only functions of SQL take included. */
export const lockClasses: Readonly<Record<number, string>> = {
  [planLock]: "the plan",
  [gate]: "gates of edits",
  3: "days",
  4: "lanes",
  [labelLock]: "groups and tags",
  [targetLock]: "targets",
  [inboxLock]: "commands",
  [migrationLock]: "migrations",
  9: "seats at targets",
  [editLock]: "edits",
  [quotaLock]: "quotas",
  12: "seats of teams",
  13: "seats of requests",
};

/**
 * For the parts of a failed batch, of which about twenty are tried. If one row is locked for long,
 * each attempt waits this long for it, while other transactions wait for the locks of the attempt.
 */
export function waitBriefly(tx: Tx): PromiseLike<unknown> {
  return tx`set local lock_timeout = '500ms'`.execute();
}

/**
 * For the rows of a housekeeping batch, once the locks that all rows need are held. A part of the
 * housekeeping works for two seconds at a time: about ten attempts find one locked row among
 * hundreds, and all of them fit. A row that is tried alone waits longer, since an edit may be about
 * to end.
 */
export function waitForRows(tx: Tx, together: number): PromiseLike<unknown> {
  return together > 1 ? tx`set local lock_timeout = '100ms'`.execute() : waitBriefly(tx);
}

/**
 * Excludes every other applier of inbox commands, so that the commands of one key stay in their
 * order.
 */
export function lockInbox(tx: Tx): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${inboxLock}::int, 0)`.execute();
}

/**
 * Taken for commands of the queue. The SQL inbox then sees all of their changes to its keys, or
 * none.
 */
export function lockInboxShared(tx: Tx): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock_shared(${inboxLock}::int, 0)`.execute();
}

/**
 * For edits that may use up a quota of these prefixes: they go one after the other. By the prefix: a
 * team that an edit makes has another id after a rollback.
 */
export function lockTeams(tx: Tx, teams: ReadonlySet<string>): PromiseLike<unknown> {
  if (teams.size === 0) return Promise.resolve();
  return tx`
    select pg_advisory_xact_lock(${quotaLock}::int, team) from (
      select distinct hashtext(t) as team from unnest(${[...teams]}::text[]) t order by team) t`.execute();
}

/**
 * For a quota of things that are counted where one is added. After it a transaction locks only the
 * row of the list of teams, for a team that it makes.
 */
export function lockQuota(tx: Tx, name: string): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${quotaLock}::int, hashtext(${name}))`.execute();
}

/** Takes the labels in one order, whatever the order of the parameters: no deadlock. */
export function lockLabelsShared(tx: Tx, labels: readonly string[]): PromiseLike<unknown> {
  if (labels.length === 0) return Promise.resolve();
  return tx`
    select pg_advisory_xact_lock_shared(${labelLock}::int, label) from (
      select distinct hashtext(l) as label from unnest(${[...labels]}::text[]) l order by label) l`.execute();
}

export function lockLabel(tx: Tx, label: string): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${labelLock}::int, hashtext(${label}))`.execute();
}

/** Keeps parcels from getting a turn at the target until the transaction ends. */
export function lockTarget(tx: Tx, target: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${targetLock}::int, ${target}::int)`.execute();
}

/** For a change in the lanes of a schedule: its own, and that of its group. */
export function lockLane(tx: Tx, scheduleId: string): PromiseLike<unknown> {
  return tx`select carillon.lock_lanes(array[${scheduleId}::bigint])`.execute();
}

/** A schedule's own lane, and the given lanes of groups. */
export function lockLanes(tx: Tx, scheduleId: string, lanes: readonly string[]): PromiseLike<unknown> {
  const ofGroups = lanes.filter((lane) => !lane.startsWith("schedule/"));
  return tx`select carillon.lock_lanes(array[${scheduleId}::bigint], ${ofGroups}::text[])`.execute();
}

/**
 * Postgres fails the second of two concurrent `alter role`. This is another lock than that of
 * migrations, which may be held for hours.
 */
export function lockLogins(tx: Tx): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${migrationLock}::int, 1)`.execute();
}

export function lockPlan(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${planLock}::int, ${shard}::int)`.execute();
}

/**
 * Locks the shards whose plan lock is free, and returns them. It never waits, so the order does not
 * matter.
 */
export async function tryLockPlans(tx: Tx, shards: readonly number[]): Promise<number[]> {
  const locked = await tx<{ shard: number }[]>`
    select shard from unnest(${[...shards]}::int[]) shard where pg_try_advisory_xact_lock(${planLock}::int, shard)`;
  return locked.map(({ shard }) => shard);
}

export function lockPlanShared(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock_shared(${planLock}::int, ${shard}::int)`.execute();
}

/** Several plan locks, in ascending order like every transaction that takes more than one. */
export function lockPlansShared(tx: Tx, shards: readonly number[]): PromiseLike<unknown> {
  return tx`
    select pg_advisory_xact_lock_shared(${planLock}::int, shard) from (
      select distinct s as shard from unnest(${[...shards]}::int[]) s order by s) s`.execute();
}

/**
 * For edits that close these gates. Edits that come later wait here, and hold nothing for which the
 * tick waits.
 */
export function lockEdits(tx: Tx, shards: readonly number[]): PromiseLike<unknown> {
  return tx`
    select pg_advisory_xact_lock(${editLock}::int, shard) from (
      select distinct s as shard from unnest(${[...shards]}::int[]) s order by s) s`.execute();
}

export function lockEdit(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${editLock}::int, ${shard}::int)`.execute();
}

export function closeGates(tx: Tx, shards: readonly number[]): PromiseLike<unknown> {
  return tx`
    select pg_advisory_xact_lock(${gate}::int, shard) from (
      select distinct s as shard from unnest(${[...shards]}::int[]) s order by s) s`.execute();
}

/** For jobs that are written for these shards: no edit is between reading and writing a schedule meanwhile. */
export function shareGates(tx: Tx, shards: readonly number[]): PromiseLike<unknown> {
  if (shards.length === 0) return Promise.resolve();
  return tx`
    select pg_advisory_xact_lock_shared(${gate}::int, shard) from (
      select distinct s as shard from unnest(${[...shards]}::int[]) s order by s) s`.execute();
}

export function closeGate(tx: Tx, shard: number): PromiseLike<unknown> {
  return tx`select pg_advisory_xact_lock(${gate}::int, ${shard}::int)`.execute();
}
