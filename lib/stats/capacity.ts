import type { Tx } from "../db/connect.ts";

/** The most jobs that were settled in one minute of the last day. */
export interface Capacity {
  perMinute: number;
  at: Date;
}

/**
 * The number of jobs that the workers did settle; they may be able to do more. Reads the rolled-up rows
 * of a day. Null if no job was settled in that time.
 */
export async function readCapacity(tx: Tx, now: Date): Promise<Capacity | null> {
  const [row] = await tx<Capacity[]>`
    select (succeeded + dead)::float8 as "perMinute", minute as at from carillon.minutes
    where minute >= ${new Date(now.getTime() - dayMs)} and minute < ${now} and succeeded + dead > 0
    order by succeeded + dead desc, minute desc limit 1`;
  return row ?? null;
}

const dayMs = 86_400_000;

/**
 * How many jobs a minute the limits of these targets allow: by the rate, or by the concurrency and
 * the measured time of a job. Targets without limits, or without a measured time, are left out.
 */
export async function allowedPerMinute(tx: Tx, targets: readonly string[]): Promise<Map<string, number>> {
  if (targets.length === 0) return new Map();
  const rows = await tx<{ name: string; perMinute: number }[]>`
    select name, least(rate_count * 60000.0 / rate_ms, concurrency * 60000.0 / greatest(cost_ms, 1))::float8 as "perMinute"
    from carillon.targets where name = any(${[...targets]}::text[]) and (rate_count is not null or (concurrency is not null and cost_ms is not null))`;
  return new Map(rows.map(({ name, perMinute }) => [name, Math.floor(perMinute)]));
}
