import type { Sql } from "../../db/connect.ts";
import { type QuotasAsked, type QuotasRead, readQuotas } from "../../quota/read-quotas.ts";
import { type OwnToken, readOwnToken } from "../../token/own-token.ts";
import { listTokens, readToken, type TokenPlace, type TokenRead } from "../../token/read-tokens.ts";
import type { Token } from "../../token/token.ts";
import {
  createToken,
  deleteToken,
  type Issued,
  type NewToken,
  rotateToken,
  type TokenParams,
} from "../../token/token-edits.ts";
import type { DeploymentRates } from "../../token/token-rates.ts";

/** The operations on tokens. Tokens outside the caller's prefix are treated as missing. */
export interface TokenOperations {
  create(params: TokenParams & { asked: NewToken }): Promise<Issued>;
  rotate(params: TokenParams & { id: string; overlapMs: number }): Promise<Issued>;
  remove(params: TokenParams & { id: string }): Promise<void>;
  read(id: string, prefix: string | null): Promise<TokenRead | null>;
  /** Ordered by name; `after` is the place of the last token of the page before. */
  list(params: {
    prefix: string | null;
    after?: TokenPlace | undefined;
    limit: number;
  }): Promise<{ items: TokenRead[]; next?: TokenPlace }>;
  /** Reads the token of a request; null if it was deleted meanwhile. */
  readOwn(token: Token): Promise<OwnToken | null>;
  /** Ordered by prefix; `after` is the last prefix of the page before. */
  quotas(asked: QuotasAsked): Promise<QuotasRead>;
}

export function tokenOperations(sql: Sql, rates: DeploymentRates): TokenOperations {
  return {
    create: (params) => createToken(sql, params),
    rotate: (params) => rotateToken(sql, params),
    remove: (params) => deleteToken(sql, params),
    read: (id, prefix) => readToken(sql, id, prefix),
    list: (params) => listTokens(sql, params),
    readOwn: (token) => readOwnToken(sql, token, rates),
    quotas: (asked) => readQuotas(sql, asked),
  };
}
