import type { PresentedToken } from "../../token/token.ts";
import type { Incoming } from "../request/incoming.ts";
import { Problem } from "../request/problem.ts";
import { unknownToken } from "../request/problem-answer.ts";

/** An authenticated caller. */
export interface Authenticated {
  token: PresentedToken;
  /**
   * The secret with which the stored answer of the request is encrypted. For a token it is the
   * token's own secret, which only its holder knows.
   */
  secret: string;
}

/** Throws 401 where the caller is unknown, and 403 where the caller has no access. */
export type Authenticate = (incoming: Incoming) => Promise<Authenticated>;

export type FindToken = (bearer: string) => Promise<PresentedToken | null>;

/** Reads the token of the Authorization header and ignores callers that the gateway names. */
export function byToken(findToken: FindToken): Authenticate {
  return async ({ headers }) => {
    const bearer = /^bearer +([\x21-\x7e]+)$/i.exec(headers["authorization"] ?? "")?.[1];
    if (bearer === undefined) {
      throw new Problem("unauthorized", "Send `Authorization: Bearer <token>`.", {
        "www-authenticate": 'Bearer realm="carillon"',
      });
    }
    const token = await findToken(bearer);
    if (token === null) {
      throw new Problem("unauthorized", "The token is unknown or has expired.", unknownToken);
    }
    return { token, secret: bearer };
  };
}
