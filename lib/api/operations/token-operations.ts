import type { Sql } from "../../db/connect.ts";
import { listTokens, namesBeyond, readToken, type TokenRead } from "../../token/read-tokens.ts";
import {
  createToken,
  deleteToken,
  type Issued,
  type NewToken,
  rotateToken,
  type TokenParams,
} from "../../token/token-edits.ts";

/** What the API does with tokens; of those that reach beyond the asking one, it knows nothing. */
export interface TokenOperations {
  create(params: TokenParams & { asked: NewToken }): Promise<Issued>;
  rotate(params: TokenParams & { id: string; overlapMs: number }): Promise<Issued>;
  remove(params: TokenParams & { id: string }): Promise<void>;
  read(id: string, prefix: string | null): Promise<TokenRead | null>;
  /** In the order of names; `after` is the name at which the page before ended. */
  list(params: {
    prefix: string | null;
    after?: string | undefined;
    limit: number;
  }): Promise<{ items: TokenRead[]; next?: string }>;
  /** Of these names, those of tokens that do not lie under the prefix. */
  namesBeyond(names: readonly string[], prefix: string): Promise<string[]>;
}

export function tokenOperations(sql: Sql): TokenOperations {
  return {
    create: (params) => createToken(sql, params),
    rotate: (params) => rotateToken(sql, params),
    remove: (params) => deleteToken(sql, params),
    read: (id, prefix) => readToken(sql, id, prefix),
    list: (params) => listTokens(sql, params),
    namesBeyond: (names, prefix) => namesBeyond(sql, names, prefix),
  };
}
