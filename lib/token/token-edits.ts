import { randomUUID } from "node:crypto";
import type { Sql, Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { sqlState, violatedConstraint } from "../db/sql-state.ts";
import { type Rate, rateText } from "../job/rate.ts";
import { refuseAnother } from "../quota/refuse-another.ts";
import { makeTeam } from "../quota/team-list.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";
import {
  countTokens,
  keepToken,
  lockTokens,
  lockTokensAndLasting,
  readToken,
  type TokenRead,
} from "./read-tokens.ts";
import { hashOf, newSecret } from "./secret.ts";
import type { Scope, Token } from "./token.ts";
import { isPrincipalName } from "./token-name.ts";
import { bucketFor } from "./token-rates.ts";

interface Powers {
  prefix: string | null;
  expiresAt: Date | null;
  rate: Rate | null;
}

/** Fields that are left out are taken from the creating token. */
export interface NewToken {
  name: string;
  scope: Scope;
  prefix?: string | null | undefined;
  expiresAt?: Date | null | undefined;
  rate?: Rate | null | undefined;
}

export interface TokenParams {
  /** The token of the caller. The new token gets no rights beyond it. */
  by: Token;
  caller: Caller;
}

/** The token with its secret, which is returned only here. */
export interface Issued {
  token: TokenRead;
  secret: string;
}

export async function createToken(sql: Sql, params: TokenParams & { asked: NewToken }): Promise<Issued> {
  const { asked, by, caller } = params;
  refusePrincipal(by);
  const secret = newSecret();
  const id = randomUUID();
  try {
    return await sql.begin(async (tx) => {
      const own = await keepToken(tx, by.id);
      if (own === null) throw takenBack();
      const { prefix, expiresAt, rate } = {
        prefix: asked.prefix === undefined ? own.prefix : asked.prefix,
        expiresAt: asked.expiresAt === undefined ? own.expiresAt : asked.expiresAt,
        rate: asked.rate === undefined ? own.rate : asked.rate,
      };
      refuseBeyond({ prefix, expiresAt, rate }, own);
      const { bucket, above } = bucketFor(own, asked.rate);
      const now = await databaseClock(tx);
      if (expiresAt !== null && expiresAt <= now)
        throw notUnderstood({ path: "expiresAt", message: "lies in the past" });
      const team = own.team ?? prefix;
      if (team !== null) await joinTeam(tx, team, asked.scope);
      await tx`
        insert into carillon.tokens (id, hash, name, scope, prefix, team, expires_at, rate_count, rate_ms, bucket, rates_above, created_at, created_by)
        values (${id}, ${hashOf(secret)}, ${asked.name}, ${asked.scope}, ${prefix}, ${own.team}, ${expiresAt},
          ${rate?.count ?? null}, ${rate?.perMs ?? null}, ${bucket}, ${above}::text::jsonb, ${now}, ${caller.name})`;
      const token = await written(tx, id);
      await note(tx, "token.created", token, caller, {
        scope: token.scope,
        prefix: token.prefix,
        expiresAt: token.expiresAt,
        rate: token.rate === null ? null : rateText(token.rate),
      });
      return { token, secret };
    });
  } catch (error) {
    if (sqlState(error) !== "unique_violation" || violatedConstraint(error) !== "tokens_name") throw error;
    // A token of the same prefix is one that the caller sees. Others are not looked at.
    throw new Refusal(
      "conflict",
      `A token of this prefix with the name ${JSON.stringify(asked.name)} exists already.`,
      [{ path: "name", message: "is taken, perhaps by a token that has expired: delete that token first" }],
    );
  }
}

/**
 * Refuses a token more than the team may have. The first token that may write makes the team: before
 * that, other teams could put schedules into its groups.
 */
async function joinTeam(tx: Tx, team: string, scope: Scope): Promise<void> {
  await refuseAnother(tx, team, "tokens", () => countTokens(tx, team));
  if (scope !== "read") await makeTeam(tx, team);
}

/** The most valid secrets of one token at a time. */
export const secretsMax = 4;

/**
 * Issues a new secret for the same token. Earlier secrets stay valid until the overlap ends, or
 * until their own end if that is earlier. Without an overlap they end at once.
 */
export function rotateToken(
  sql: Sql,
  { id, overlapMs, by, caller }: TokenParams & { id: string; overlapMs: number },
): Promise<Issued> {
  refusePrincipal(by);
  const secret = newSecret();
  return sql.begin(async (tx) => {
    await lockTokens(tx, [id, by.id]);
    const own = await readToken(tx, by.id, null);
    if (own === null) throw takenBack();
    const standing = await readToken(tx, id, by.prefix);
    if (standing === null) throw missing(id);
    if (isPrincipalName(standing.name))
      throw new Refusal(
        "conflict",
        `${JSON.stringify(standing.name)} is a caller that needs no token, and has no secret.`,
      );
    if (standing.id !== by.id) refuseBeyond(standing, own);
    const now = await databaseClock(tx);
    if (standing.expiresAt !== null && standing.expiresAt <= now)
      throw new Refusal("conflict", "The token has expired; create another one.");
    const endsAt = new Date(now.getTime() + overlapMs);
    const [good] = await tx<{ secrets: number }[]>`
      with ended as (
        update carillon.earlier_secrets set ends_at = least(ends_at, ${endsAt}) where token_id = ${id} and ends_at > ${now}
        returning least(ends_at, ${endsAt}) > ${now} as good
      ), replaced as (
        insert into carillon.earlier_secrets (hash, token_id, ends_at)
        select hash, id, ${endsAt}::timestamptz from carillon.tokens where id = ${id}
      )
      select count(*) filter (where good)::int as secrets from ended`;
    if (overlapMs > 0 && (good?.secrets ?? 0) + 2 > secretsMax)
      throw new Refusal(
        "conflict",
        `The token has ${secretsMax} valid secrets, which is the limit: wait until one ends, or rotate without an overlap.`,
        [{ path: "overlap", message: 'takes "0s" here: then all earlier secrets end at once' }],
      );
    await tx`update carillon.tokens set hash = ${hashOf(secret)}, rotated_at = ${now} where id = ${id}`;
    const token = await written(tx, id);
    await note(tx, "token.rotated", token, caller, { earlierUntil: token.earlierUntil });
    return { token, secret };
  });
}

/** Deletes a token: requests that look it up after the commit are refused. */
export async function deleteToken(sql: Sql, { id, by, caller }: TokenParams & { id: string }): Promise<void> {
  await sql.begin(async (tx) => {
    // Another delete at the same time waits here, so that the check for the last token holds.
    const lasting = await lockTokensAndLasting(tx, [id, by.id]);
    if ((await readToken(tx, by.id, null)) === null) throw takenBack();
    const standing = await readToken(tx, id, by.prefix);
    if (standing === null) throw missing(id);
    if (lasting.length === 1 && lasting[0] === id)
      throw new Refusal(
        "conflict",
        "This is the last token of scope admin that reaches every key and does not expire: create another one first.",
      );
    const now = await databaseClock(tx);
    await tx`
      with ended as (
        update carillon.earlier_secrets set ends_at = least(ends_at, ${now}) where token_id = ${id}
      )
      insert into carillon.earlier_secrets (hash, ends_at) select hash, ${now}::timestamptz from carillon.tokens where id = ${id}
      on conflict (hash) do nothing`;
    await note(tx, "token.deleted", standing, caller, { scope: standing.scope, prefix: standing.prefix });
    await tx`delete from carillon.tokens where id = ${id}`;
  });
}

/** Refuses a caller of the gateway, which checks no tokens: a new secret would grant nothing. */
function refusePrincipal({ name }: Token): void {
  if (!isPrincipalName(name)) return;
  throw new Refusal("impossible", "This deployment takes no tokens: the gateway authenticates its callers.");
}

/**
 * Refuses a token that may do more than the one that makes it. Otherwise the holder of a token that
 * expires could make one that lasts longer.
 */
function refuseBeyond({ prefix, expiresAt, rate }: Powers, grantor: Powers): void {
  const faults: Fault[] = [];
  if (grantor.prefix !== null && prefix?.startsWith(grantor.prefix) !== true)
    faults.push({
      path: "prefix",
      message: `must begin with ${JSON.stringify(grantor.prefix)}, as the prefix of your token does`,
    });
  if (grantor.expiresAt !== null && (expiresAt === null || expiresAt > grantor.expiresAt))
    faults.push({
      path: "expiresAt",
      message: `must be at most ${grantor.expiresAt.toISOString()}, when your token expires`,
    });
  if (grantor.rate !== null && (rate === null || isMore(rate, grantor.rate)))
    faults.push({
      path: "rate",
      message: `must be at most ${rateText(grantor.rate)}, as for your token, with at most ${grantor.rate.count} at once`,
    });
  if (faults.length > 0)
    throw new Refusal("forbidden", "A token cannot grant more than it has itself.", faults);
}

/**
 * Whether a rate is faster than another, or allows more requests at once: the requests of one unit
 * may come together.
 */
function isMore(rate: Rate, than: Rate): boolean {
  return rate.count > than.count || rate.count / rate.perMs > than.count / than.perMs;
}

async function written(tx: Tx, id: string): Promise<TokenRead> {
  const token = await readToken(tx, id, null);
  if (token === null) throw new Error(`The token ${id} was not found after it was written.`);
  return token;
}

/** The token was deleted between its lookup and here, so the request is not carried out. */
function takenBack(): Refusal {
  return new Refusal("unauthorized", "The token is unknown or has expired.");
}

function missing(id: string): Refusal {
  return new Refusal("missing", `There is no token ${JSON.stringify(id.slice(0, 100))}.`);
}

function notUnderstood(fault: Fault): Refusal {
  return new Refusal("invalid", "The token is not understood.", [fault]);
}

async function note(
  tx: Tx,
  action: "token.created" | "token.rotated" | "token.deleted",
  { id, name, prefix }: TokenRead,
  caller: Caller,
  detail: object,
): Promise<void> {
  await tx`
    insert into carillon.audit (at, actor, action, subject, detail, origin, prefix)
    values (carillon.clock(), ${caller.name}, ${action}, ${name}, ${JSON.stringify({ token: id, ...detail })}::text::jsonb,
      ${originText(caller)}::text::jsonb, ${prefix ?? ""})`;
}
