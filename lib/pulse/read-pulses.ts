import type { Sql } from "../db/connect.ts";
import type { ClaimedPulses, PulsePlace } from "../parcel/claim.ts";

/** Pulses for one target. */
export interface PulsesOfTarget {
  target: number;
  /** Each an envelope as JSON text. */
  envelopes: string[];
}

export interface PulsePage {
  pulses: PulsesOfTarget[];
  /** The position to continue from, if all pulses are of one team; null after the last page. */
  next: PulsePlace | null;
}

/**
 * The limits of one page, which is in memory while it is sent. A page may exceed them by some
 * hundreds of rows.
 */
const rowsMax = 2_000;
const bytesMax = 2_000_000;

/**
 * Separates the envelopes of a row. It never occurs in JSON text, where each control character is
 * escaped.
 */
const separator = "\u001f";

/** The highest number that a team may have. */
const teamMax = 2_147_483_647;

interface PageRow {
  every: number | null;
  target: number;
  last: string;
  envelopes: string;
}

/**
 * Reads the pulses at the second of a claimed parcel, from a position on. The database encodes
 * their envelopes.
 */
export async function readPulses(
  sql: Sql,
  { shard, second, targets, teams }: Pick<ClaimedPulses, "shard" | "second" | "targets" | "teams">,
  after: PulsePlace | null,
  generatedAt: Date,
): Promise<PulsePage> {
  const due = new Date(second * 1_000);
  const times = `000-c0","time":"${due.toISOString()}","generatedat":"${generatedAt.toISOString()}",`;
  const rows = await sql<PageRow[]>`
    select every_s as every, target_id as target, last_schedule as last, envelopes
    from carillon.read_pulses(${shard}, ${second}, ${teams?.from ?? 0}, ${teams?.to ?? teamMax}, ${targets}::int[],
      ${after?.every ?? 0}, ${after?.schedule ?? 0}::bigint, ${times}, ${rowsMax}, ${bytesMax})`;
  const byTarget = new Map<number, string[]>();
  for (const { every, target, envelopes } of rows) {
    if (every === null) return { pulses: listed(byTarget), next: null };
    const own = byTarget.get(target);
    const read = envelopes.split(separator);
    byTarget.set(target, own === undefined ? read : own.concat(read));
  }
  return { pulses: listed(byTarget), next: lastOf(rows) };
}

/**
 * The position to continue from: the last schedule of the last interval. Within an interval the
 * rows are ordered by schedule for each target only.
 */
function lastOf(rows: readonly PageRow[]): PulsePlace {
  const every = rows.at(-1)?.every;
  if (every === undefined || every === null)
    throw new Error("Reading pulses returned no place to continue from.");
  const lasts = rows.filter((row) => row.every === every).map(({ last }) => BigInt(last));
  const last = lasts.reduce((most, each) => (each > most ? each : most));
  return { every, schedule: String(last) };
}

function listed(byTarget: ReadonlyMap<number, string[]>): PulsesOfTarget[] {
  return [...byTarget].map(([target, envelopes]) => ({ target, envelopes }));
}
