import { functionTimeoutSeconds } from "../config/function-limits.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { type OldRows, oldRowName } from "../quarantine/forget-old.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import type { Tried } from "../quarantine/try-rows.ts";

/** How long the result of a request is kept. */
export const keptHours = 24;

/**
 * The lease of a claimed request, after which another attempt takes the request over. It is longer
 * than the timeout of the function, so a request under way is not overtaken, however long one of
 * its transactions takes. A claim that is overtaken all the same commits nothing more.
 */
export const leaseSeconds = functionTimeoutSeconds.api + 6;

export interface RequestName {
  tokenId: string;
  key: string;
}

/** The right to carry out a request, until another claim has a greater number. */
export interface Claim extends RequestName {
  claim: number;
}

export type Claimed =
  /** `before`: the results of transactions of earlier attempts, in their order. */
  | { state: "claimed"; claim: Claim; before: Buffer[] }
  | { state: "answered"; answer: Buffer }
  /** Another claim is carrying it out at this moment. */
  | { state: "running"; seconds: number }
  /** The key belongs to a different request. */
  | { state: "different" };

/** Claims a request, or returns why it cannot be claimed. A new request takes one statement. */
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

/** Deletes a request that is older than a day, if no tick has deleted it yet. */
async function forget(sql: Sql, { tokenId, key }: RequestName): Promise<void> {
  await sql`
    delete from carillon.idempotency
    where token_id = ${tokenId} and key = ${key} and created_at <= carillon.clock() - make_interval(hours => ${keptHours})`;
}

/**
 * Writes the result of a transaction as its last statement; false if the claim has been overtaken.
 * A takeover, an answer or a release of the request waits for this row until the commit, and then
 * sees the step.
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

/**
 * Keeps the answer and deletes the steps, which it makes unnecessary; false if the claim has been
 * overtaken.
 */
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

/**
 * Releases a request that was not carried out, so that it can come again at once. If nothing of it
 * was done, the key is free for another request too.
 */
export async function letGo(sql: Sql, { tokenId, key, claim }: Claim): Promise<void> {
  const { count } = await sql`
    delete from carillon.idempotency
    where token_id = ${tokenId} and key = ${key} and claim = ${claim} and steps = 0 and answer is null`;
  if (count === 1) return;
  await sql`
    update carillon.idempotency set claimed_until = carillon.clock()
    where token_id = ${tokenId} and key = ${key} and claim = ${claim} and answer is null`;
}

/** Requests whose result is no longer kept, for the part of the tick that deletes old rows. */
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
