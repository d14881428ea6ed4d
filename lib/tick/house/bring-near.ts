import { isDeepStrictEqual } from "node:util";
import { boundStatements } from "../../db/bounded.ts";
import type { Sql, Tx } from "../../db/connect.ts";
import { lockPlan, waitBriefly, waitForRows } from "../../db/locks.ts";
import { never } from "../../db/readable-instants.ts";
import { type FarRow, farRowName, passedBefore } from "../../plan/far-rows.ts";
import { readShard, type ShardState } from "../../plan/shard.ts";
import { blameOnceLocked, mayBeOfARow, OfNoRow } from "../../quarantine/in-halves.ts";
import { logSetAside, type SetAside } from "../../quarantine/quarantine.ts";
import { daysAhead } from "../days.ts";
import { setSourceAside } from "../fire/rows-aside.ts";
import type { Run } from "../run.ts";

const moveMax = 10_000;
const dayMs = 86_400_000;

/**
 * A step of thousands takes a fifth of a second. One that hangs on a row is given up after the first of these, and those with fewer rows after the
 * second: all attempts until that row stands alone fit into one tick.
 */
const statementMs = { whole: 8_000, part: 2_000 };

export interface NearStep {
  /** The number of rows at most. */
  rowsMax?: number;
  /** Rows that were passed over: the step leaves them where they are. */
  passed?: readonly FarRow[];
  /** A statement is given up that takes longer. */
  mostMs?: typeof statementMs;
}

/** Fewer rows of the shard may do: the step had the locks of its shard, and failed on what it was to move. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  /** Where the step was limited to one row: that row. */
  readonly row: FarRow | null;

  constructor(cause: unknown, row: FarRow | null) {
    super("A step of bringing far rows near has failed.", { cause });
    this.row = row;
  }
}

export interface NearBounds {
  /** Smaller and smaller steps go on until then: begun anew in each slice of the tick, they would never come to a single row. */
  mustEnd?: () => boolean;
  mostMs?: typeof statementMs;
}

/** Where that fails, the shard is fired up to its line. */
export async function bringAllNear(
  run: Run,
  shard: number,
  { mustEnd = run.timeIsUp, mostMs = statementMs }: NearBounds = {},
): Promise<void> {
  try {
    await bringEachNear(run, shard, { mustEnd, mostMs });
  } catch (error) {
    run.note(error instanceof OfNoRow ? error.cause : error);
  }
}

/**
 * Step after step. One that fails on its rows is begun again with an eighth of them, until the row at fault stands alone and is passed over, as a
 * batch of a shard is; steps grow again behind the rows of the one that failed.
 */
async function bringEachNear(
  { sql, log, timeIsUp }: Run,
  shard: number,
  { mustEnd, mostMs }: Required<NearBounds>,
): Promise<void> {
  const passed = await passedBefore(sql, shard);
  let rowsMax = moveMax;
  /** Rows to come among which one is at fault. */
  let suspect = 0;
  const mustStop = () => (suspect > 0 ? mustEnd() : timeIsUp());
  for (let more = true; more && !mustStop(); ) {
    try {
      const step = await bringNear(sql, shard, { rowsMax, passed, mostMs });
      more = step.more;
      suspect -= step.moved;
      if (suspect <= 0) rowsMax = Math.min(moveMax, rowsMax * 2);
    } catch (error) {
      if (!(error instanceof StepFailed) || (rowsMax === 1 && error.row === null)) throw error;
      if (error.row !== null) {
        const aside = await passFarRow(sql, shard, error, { passed, mostMs });
        logSetAside(log, "plan", aside ?? []);
        if (aside !== null) passed.push(error.row);
        suspect = 0;
        continue;
      }
      suspect = await countComing(sql, shard, { rowsMax, passed });
      rowsMax = Math.max(1, Math.floor(suspect / 8));
    }
  }
}

/**
 * Moves a shard's far rows into the near plan as they come near, the earliest first, and raises the line between the two.
 * In bounded steps under the plan lock: creates and edits read the line under the same lock, and are never kept waiting long. Millions may be
 * due at one instant: the line then stands at that instant until the last of them is moved. A row that is in the near plan already does no
 * harm, since a batch goes no further than the line, and every reader of the plan reads both.
 * Returns how many rows it has moved, and whether there is more to move.
 */
export async function bringNear(
  sql: Sql,
  shard: number,
  { rowsMax = moveMax, passed = [], mostMs = statementMs }: NearStep = {},
): Promise<{ moved: number; more: boolean }> {
  let first: FarRow | null = null;
  try {
    return await blameOnceLocked((noteLocked) =>
      sql.begin(async (tx) => {
        const [, , state] = await Promise.all([
          boundStatements(tx, rowsMax < moveMax ? mostMs.part : mostMs.whole),
          lockPlan(tx, shard),
          readShard(tx, shard),
        ]);
        noteLocked();
        await waitForRows(tx, rowsMax);
        const target = targetOf(state);
        if (state.nearUntil >= target) return { moved: 0, more: false };
        const coming = comingNear(tx, shard, target, rowsMax, passed);
        if (rowsMax === 1) first = await farRowOf(tx, coming);
        return move(tx, shard, { target, coming, rowsMax });
      }),
    );
  } catch (error) {
    throw mayBeOfARow(error) ? new StepFailed(error, first) : error;
  }
}

/** The end of the last day that is attached. */
function targetOf({ now }: ShardState): Date {
  return new Date((Math.floor(now.getTime() / dayMs) + daysAhead) * dayMs);
}

type Coming = ReturnType<typeof comingNear>;

/** Rows due at no instant of a day there can be come first: nothing else would ever look at them. */
function comingNear(tx: Tx, shard: number, target: Date, rowsMax: number, passed: readonly FarRow[]) {
  const left =
    passed.length === 0
      ? tx``
      : tx`and not exists (
          select from unnest(${passed.map(({ scheduleId }) => scheduleId)}::bigint[], ${passed.map(({ version }) => version)}::int[],
            ${passed.map(({ name }) => name)}::text[]) l (id, version, name)
          where l.id = f.schedule_id and l.version = f.version and l.name = ${farRowName(tx)})`;
  const some = (due: ReturnType<Tx>) => tx`
    (select f.ctid, f.* from carillon.plan_far f where f.shard = ${shard} and ${due} ${left}
    order by f.due_at, f.schedule_id, f.ctid limit ${rowsMax})`;
  return tx`
    select ctid, due_at, schedule_id from (
      ${some(tx`f.due_at >= ${never(tx)}`)} union all ${some(tx`f.due_at < ${target}`)}) f
    order by f.due_at >= ${never(tx)} desc, f.due_at, f.schedule_id, f.ctid limit ${rowsMax}`;
}

async function countComing(
  sql: Sql,
  shard: number,
  { rowsMax, passed }: Required<Pick<NearStep, "rowsMax" | "passed">>,
): Promise<number> {
  const target = targetOf(await readShard(sql, shard));
  const [row] = await sql<{ rows: number }[]>`
    select count(*)::int as rows from (${comingNear(sql, shard, target, rowsMax, passed)}) c`;
  return row?.rows ?? 0;
}

async function farRowOf(tx: Tx, coming: Coming): Promise<FarRow | null> {
  const [row] = await tx<FarRow[]>`
    select f.schedule_id as "scheduleId", f.version, ${farRowName(tx)} as name
    from carillon.plan_far f where f.ctid = (select ctid from (${coming}) c)`;
  return row ?? null;
}

async function move(
  tx: Tx,
  shard: number,
  { target, coming, rowsMax }: { target: Date; coming: Coming; rowsMax: number },
): Promise<{ moved: number; more: boolean }> {
  const [{ moved, lastDueAt } = { moved: 0, lastDueAt: null }] = await tx<
    { moved: number; lastDueAt: string | null }[]
  >`
    with near as (${coming}), taken as (
      delete from carillon.plan_far f using near where f.ctid = near.ctid
      returning f.due_at, f.occurrence, f.schedule_id, f.every_ms, f.version, f.cadence_id, f.governed, f.shard
    ), inserted as (
      insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard)
      select due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard from taken order by due_at
    )
    select count(*)::int as moved, (max(due_at) filter (where due_at < ${target}))::text as "lastDueAt" from taken`;
  const more = moved >= rowsMax;
  // Of the last instant there may be more.
  const line = more ? tx`${lastDueAt}::text::timestamptz` : tx`${target}::timestamptz`;
  await tx`update carillon.shards set near_until = greatest(near_until, ${line}) where id = ${shard}`;
  return { moved, more };
}

/**
 * Passes over the row on which a step of one has failed, and the line comes up to it. Where the row can be taken out of the far table it is, and what
 * its schedule is owed is known by its place in quarantine alone; where it cannot, the retry of the schedule does so. Null where another row
 * comes first by now.
 */
async function passFarRow(
  sql: Sql,
  shard: number,
  { row, cause }: StepFailed,
  { passed, mostMs }: Required<Pick<NearStep, "passed" | "mostMs">>,
): Promise<SetAside[] | null> {
  const pass = (takesOut: boolean) =>
    sql.begin(async (tx) => {
      const [, , state] = await Promise.all([
        boundStatements(tx, mostMs.part),
        lockPlan(tx, shard),
        readShard(tx, shard),
      ]);
      await waitBriefly(tx);
      const target = targetOf(state);
      const coming = comingNear(tx, shard, target, 1, passed);
      const first = await farRowOf(tx, coming);
      if (row === null || !isDeepStrictEqual(first, row)) return null;
      const source = tx`select f.* from carillon.plan_far f where f.ctid = (select ctid from (${coming}) c)`;
      const aside = await setSourceAside(tx, state, source, cause, takesOut ? undefined : row.name);
      // Where the row of the shard is at fault this fails too, and no far row is blamed.
      await tx`
        update carillon.shards s set near_until = greatest(s.near_until, p.due_at)
        from (${source}) p where s.id = ${shard} and p.due_at < ${target}`;
      if (takesOut) await tx`delete from carillon.plan_far f where f.ctid = (select ctid from (${coming}) c)`;
      return aside;
    });
  try {
    return await pass(true);
  } catch (error) {
    if (!mayBeOfARow(error)) throw error;
    return pass(false);
  }
}
