import { functionTimeoutSeconds } from "../config/function-limits.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { type OldRows, oldRowName } from "../quarantine/forget-old.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import type { Tried } from "../quarantine/try-rows.ts";

/** So long is kept what became of a request. */
export const keptHours = 24;

/**
 * Who has claimed a request and dies lets it go after so long. The function lives no longer than its timeout, however long one transaction
 * takes: nobody overtakes a request that is being worked. One that is overtaken all the same commits nothing any more.
 */
export const leaseSeconds = functionTimeoutSeconds.api + 6;

export interface RequestName {
  tokenId: string;
  key: string;
}

/** The right to work a request, until somebody else has one with a greater number. */
export interface Claim extends RequestName {
  claim: number;
}

export type Claimed =
  /** `before`: what transactions of earlier tries have come to, in their order. */
  | { state: "claimed"; claim: Claim; before: Buffer[] }
  | { state: "answered"; answer: Buffer }
  /** Somebody works it at this moment. */
  | { state: "running"; seconds: number }
  /** The key stands for another request. */
  | { state: "different" };

/** One statement for a request that is new. */
export async function claimRequest(
  sql: Sql,
  { tokenId, key }: RequestName,
  fingerprint: Buffer,
): Promise<Claimed> {
  for (;;) {
    const [taken] = await sql<{ claim: number }[]>`
      insert into carillon.idempotency as i (token_id, key, fingerprint, claim, claimed_until, created_at)
      select ${tokenId}::uuid, ${key}, ${fingerprint}, 1, now + make_interval(secs => ${leaseSeconds}), now from (select carillon.clock() as now) clock
      on conflict (token_id, key) do update set claim = i.claim + 1, claimed_until = excluded.claimed_until
      where i.answer is null and i.claimed_until <= excluded.created_at and i.fingerprint = excluded.fingerprint
        and i.created_at > excluded.created_at - make_interval(hours => ${keptHours})
      returning i.claim`;
    if (taken !== undefined) {
      const claim = { tokenId, key, claim: taken.claim };
      return { state: "claimed", claim, before: claim.claim === 1 ? [] : await stepsOf(sql, claim) };
    }
    const standing = await findRequest(sql, { tokenId, key });
    if (standing === undefined) continue;
    if (standing.isOver) await forget(sql, { tokenId, key });
    else if (!standing.fingerprint.equals(fingerprint)) return { state: "different" };
    else if (standing.answer !== null) return { state: "answered", answer: standing.answer };
    else if (standing.seconds > 0) return { state: "running", seconds: standing.seconds };
  }
}

interface Standing {
  fingerprint: Buffer;
  answer: Buffer | null;
  seconds: number;
  isOver: boolean;
}

async function findRequest(sql: Sql, { tokenId, key }: RequestName): Promise<Standing | undefined> {
  const [standing] = await sql<Standing[]>`
    select fingerprint, answer, ceil(extract(epoch from claimed_until - now))::int as seconds,
      created_at <= now - make_interval(hours => ${keptHours}) as "isOver"
    from carillon.idempotency cross join (select carillon.clock() as now) clock where token_id = ${tokenId} and key = ${key}`;
  return standing;
}

async function stepsOf(sql: Sql, { tokenId, key }: RequestName): Promise<Buffer[]> {
  const steps = await sql<{ result: Buffer }[]>`
    select result from carillon.idempotency_steps where token_id = ${tokenId} and key = ${key} order by n`;
  return steps.map(({ result }) => result);
}

/** The tick has not come to it yet. */
async function forget(sql: Sql, { tokenId, key }: RequestName): Promise<void> {
  await sql`
    delete from carillon.idempotency
    where token_id = ${tokenId} and key = ${key} and created_at <= carillon.clock() - make_interval(hours => ${keptHours})`;
}

/**
 * Writes what a transaction came to, as its last statement; false where the claim is not in force any more. Until the commit whoever
 * takes the request over, answers it or lets it go waits for the row, and then sees the step in it.
 */
export async function writeStep(
  tx: Tx,
  { tokenId, key, claim }: Claim,
  { n, result }: { n: number; result: Buffer },
): Promise<boolean> {
  const written = await tx`
    with counted as (
      update carillon.idempotency set steps = steps + 1
      where token_id = ${tokenId} and key = ${key} and claim = ${claim} and steps = ${n} and answer is null returning 1
    )
    insert into carillon.idempotency_steps (token_id, key, n, result) select ${tokenId}::uuid, ${key}, ${n}, ${result} from counted
    returning 1`;
  return written.length === 1;
}

/** Keeps the answer, which needs no steps any more; false where the claim is not in force any more. */
export async function keepAnswer(
  sql: Sql,
  { tokenId, key, claim }: Claim,
  { answer, steps }: { answer: Buffer; steps: number },
): Promise<boolean> {
  const kept = await sql`
    with kept as (
      update carillon.idempotency set answer = ${answer}
      where token_id = ${tokenId} and key = ${key} and claim = ${claim} and steps = ${steps} and answer is null returning token_id, key
    ), freed as (
      delete from carillon.idempotency_steps s using kept where s.token_id = kept.token_id and s.key = kept.key
    )
    select from kept`;
  return kept.length === 1;
}

/** For a request that was not carried out: it may come again at once; and where nothing of it was done, another one by the same key. */
export async function letGo(sql: Sql, { tokenId, key, claim }: Claim): Promise<void> {
  const { count } = await sql`
    delete from carillon.idempotency
    where token_id = ${tokenId} and key = ${key} and claim = ${claim} and steps = 0 and answer is null`;
  if (count === 1) return;
  await sql`
    update carillon.idempotency set claimed_until = carillon.clock()
    where token_id = ${tokenId} and key = ${key} and claim = ${claim} and answer is null`;
}

/** The kept answers of requests with an Idempotency-Key. */
export const oldRequests: OldRows<Tried & RequestName> = {
  most: 1_000,
  list: (sql, most) => {
    const item = oldRowName(sql, "idempotency", sql`i.token_id || ' ' || i.key`);
    return sql`
      select ${item} as item, ${isAside(sql, "forget", item)} as aside, i.token_id as "tokenId", i.key from carillon.idempotency i
      where ${isOver(sql)} and not ${waitsAside(sql, "forget", item)} order by i.created_at limit ${most}`;
  },
  drop: async (tx, rows) => {
    const { count } = await tx`
      delete from carillon.idempotency i
      using unnest(${rows.map(({ tokenId }) => tokenId)}::uuid[], ${rows.map(({ key }) => key)}::text[]) o (token_id, key)
      where i.token_id = o.token_id and i.key = o.key and ${isOver(tx)}`;
    return count;
  },
};

const isOver = (tx: Tx) => tx`
  i.created_at <= (select carillon.clock()) - make_interval(hours => ${keptHours}::int)`;
