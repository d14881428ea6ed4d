import type { Sql } from "../db/connect.ts";
import type { ClaimedPulses, PulsePlace } from "../parcel/claim.ts";

/** What goes to one target. */
export interface PulsesOfTarget {
  target: number;
  /** Each an envelope as JSON text. */
  envelopes: string[];
}

export interface PulsePage {
  pulses: PulsesOfTarget[];
  /** From where to read on; null where these were the last. */
  next: PulsePlace | null;
}

/** So many are read at once, or as many as say so much, and some hundreds more: they are in memory while they are sent. */
const rowsMax = 2_000;
const bytesMax = 2_000_000;

/** What never stands in JSON text, where each control character is escaped. */
const separator = "\u001f";

interface PageRow {
  every: number | null;
  target: number;
  last: string;
  envelopes: string;
}

/** Who beats at the second of a claimed parcel, from behind a place on; what they say is encoded where it is stored. */
export async function readPulses(
  sql: Sql,
  { shard, second, targets }: Pick<ClaimedPulses, "shard" | "second" | "targets">,
  after: PulsePlace | null,
  generatedAt: Date,
): Promise<PulsePage> {
  const due = new Date(second * 1_000);
  const times = `000-c0","time":"${due.toISOString()}","generatedat":"${generatedAt.toISOString()}",`;
  const rows = await sql<PageRow[]>`
    select every_s as every, target_id as target, last_schedule as last, envelopes
    from carillon.read_pulses(${shard}, ${second}, ${targets}::int[], ${after?.every ?? 0}, ${after?.schedule ?? 0}::bigint, ${times}, ${rowsMax}, ${bytesMax})`;
  const byTarget = new Map<number, string[]>();
  for (const { every, target, envelopes } of rows) {
    if (every === null) return { pulses: listed(byTarget), next: null };
    const own = byTarget.get(target);
    const read = envelopes.split(separator);
    byTarget.set(target, own === undefined ? read : own.concat(read));
  }
  return { pulses: listed(byTarget), next: lastOf(rows) };
}

/** Those of the last interval came in the order of their schedules, each target's by themselves. */
function lastOf(rows: readonly PageRow[]): PulsePlace {
  const every = rows.at(-1)?.every;
  if (every === undefined || every === null) throw new Error("Reading pulses gave no answer.");
  const lasts = rows.filter((row) => row.every === every).map(({ last }) => BigInt(last));
  const last = lasts.reduce((most, each) => (each > most ? each : most));
  return { every, schedule: String(last) };
}

function listed(byTarget: ReadonlyMap<number, string[]>): PulsesOfTarget[] {
  return [...byTarget].map(([target, envelopes]) => ({ target, envelopes }));
}
