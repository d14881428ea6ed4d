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
 * Time limits of a statement. A step of thousands takes a fifth of a second. The first limit is for
 * a step of full size, the second for smaller ones: all attempts until a failing row is alone fit
 * into one tick.
 */
const statementMs = { whole: 8_000, part: 2_000 };

export interface NearStep {
  /** Largest number of rows. */
  rowsMax?: number;
  /** Rows that failed before and stay in the far table: the step skips them. */
  passed?: readonly FarRow[];
  /** Time limits of a statement. */
  mostMs?: typeof statementMs;
}

/** The step had the locks of its shard and failed on its rows, so a smaller step may succeed. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  /** If the step was limited to one row: that row. */
  readonly row: FarRow | null;

  constructor(cause: unknown, row: FarRow | null) {
    super("A step of moving far rows into the near plan failed.", { cause });
    this.row = row;
  }
}

export interface NearBounds {
  /**
   * True when the tick has to end. Until then a failing step is retried in smaller parts, even past
   * this part's slice of time: the next tick would begin with a full step again, and never get down
   * to a single row.
   */
  mustEnd?: () => boolean;
  mostMs?: typeof statementMs;
}

/**
 * Moves all far rows of a shard that are near by now. If that fails, the shard is fired only up to
 * its near line.
 */
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
 * Moves rows step by step. A step that fails on its rows is retried with an eighth of them, until
 * the failing row is alone and is set aside, as in a batch of a shard. Steps grow again behind the
 * rows of the failed step.
 */
async function bringEachNear(
  { sql, log, timeIsUp }: Run,
  shard: number,
  { mustEnd, mostMs }: Required<NearBounds>,
): Promise<void> {
  const passed = await passedBefore(sql, shard);
  let rowsMax = moveMax;
  /** Number of coming rows that include the failing one. */
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
 * Moves far rows of a shard into the near plan as they come near, earliest first, and raises the
 * near line. It works in bounded steps under the plan lock, so that creates and edits, which read
 * the near line under the same lock, never wait long. Millions of rows may be due at one instant:
 * the near line then stays at that instant until the last of them is moved. A row that is already
 * in the near plan does no harm: a batch goes no further than the near line, and every reader of
 * the plan reads both tables.
 * Returns the number of rows moved, and whether there are more.
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

/** The end of the last attached day. */
function targetOf({ now }: ShardState): Date {
  return new Date((Math.floor(now.getTime() / dayMs) + daysAhead) * dayMs);
}

type Coming = ReturnType<typeof comingNear>;

/** Rows due outside the range of days come first, because no other part would ever read them. */
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
  // There may be more rows due at the last instant.
  const line = more ? tx`${lastDueAt}::text::timestamptz` : tx`${target}::timestamptz`;
  await tx`update carillon.shards set near_until = greatest(near_until, ${line}) where id = ${shard}`;
  return { moved, more };
}

/**
 * Sets aside the row on which a step of one row failed, and raises the near line to that row. If
 * possible, the row is deleted from the far table: its quarantine entry then has what is to be
 * planned. Otherwise the retry of the schedule deletes it. Null if another row comes first by now.
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
      // If the shard's own row is at fault, this fails too, and no far row is blamed.
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
