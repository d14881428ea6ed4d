import { createHash, randomUUID } from "node:crypto";
import type { Tx } from "../db/connect.ts";

/** read: look at everything; write: schedules and jobs as well; admin: holds of others and tokens as well. */
export type Scope = "read" | "write" | "admin";

export interface Token {
  id: string;
  /** Stands as the actor wherever something was done with this token. */
  name: string;
  scope: Scope;
  /** It reaches keys that begin with this; null where it reaches all. */
  prefix: string | null;
}

const rank: Readonly<Record<Scope, number>> = { read: 1, write: 2, admin: 3 };

export function allows(token: Token, needed: Scope): boolean {
  return rank[token.scope] >= rank[needed];
}

/** What can stand behind `Bearer` in a header; anything else could never be presented. */
const presentable = /^[\x21-\x7e]{1,4096}$/;

/** The token as it is known here; null where it is unknown or its time is over, as the database's clock says. */
export async function findToken(sql: Tx, bearer: string): Promise<Token | null> {
  if (!presentable.test(bearer)) return null;
  const [token] = await sql<Token[]>`
    select id, name, scope, prefix from carillon.tokens
    where hash = ${hashOf(bearer)} and (expires_at is null or expires_at > carillon.clock())`;
  return token ?? null;
}

/** Makes the token known with admin scope unless it is known already; no other token is touched. */
export async function ensureAdminToken(sql: Tx, bearer: string): Promise<void> {
  if (!presentable.test(bearer)) {
    throw new Error("The first admin token takes 1 to 4096 printable ASCII characters without blanks.");
  }
  await sql`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
    values (${randomUUID()}, ${hashOf(bearer)}, 'first', 'admin', carillon.clock(), 'carillon')
    on conflict (hash) do nothing`;
}

function hashOf(bearer: string): Buffer {
  return createHash("sha256").update(bearer).digest();
}
