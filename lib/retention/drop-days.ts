import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "../db/connect.ts";
import { sqlState } from "../db/sql-state.ts";

export interface DropWish {
  retentionDays: number;
  /** Whether a day of jobs goes only when the archive has it. */
  archived: boolean;
}

/** A drop that found no moment for it is tried so often in all, with a pause in which whoever waited gets through. */
const triesMax = 3;
const pauseMs = 200;

/**
 * Drops what is past: days of the plan that every watermark has left behind, and days of jobs, one at a time, each in a transaction of its
 * own. Nobody waits for it: what finds no moment is left for the next minute. Returns the names of what went.
 */
export async function dropDays(sql: Sql, wish: DropWish, timeIsUp: () => boolean): Promise<string[]> {
  const dropped = await inAMoment(() => dropPlanDays(sql));
  while (!timeIsUp()) {
    const day = await inAMoment(() => dropJobDay(sql, wish));
    if (day === null) break;
    dropped.push(day);
  }
  return dropped;
}

async function dropPlanDays(sql: Sql): Promise<string[]> {
  const [plan] = await sql<{ dropped: string[] }[]>`select carillon.drop_plan_days() as dropped`;
  return plan?.dropped ?? [];
}

async function dropJobDay(sql: Sql, { retentionDays, archived }: DropWish): Promise<string | null> {
  const [row] = await sql<{ day: string | null }[]>`
    select 'jobs_' || to_char(carillon.drop_settled_day(${retentionDays} * interval '1 day', ${archived}), 'YYYYMMDD') as day`;
  return row?.day ?? null;
}

async function inAMoment<Result>(act: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      const state = sqlState(error);
      if ((state !== "lock_timeout" && state !== "deadlock") || tries === triesMax) throw error;
      await sleep(pauseMs);
    }
  }
}
