import type { PresentedToken } from "../../token/token.ts";
import type { Incoming } from "../request/incoming.ts";
import { Problem } from "../request/problem.ts";
import { unknownToken } from "../request/problem-answer.ts";

/** Who makes a request. */
export interface Authenticated {
  token: PresentedToken;
  /** By which what is kept of the request is sealed: of a token, what only its holder knows. */
  secret: string;
}

/** Says 401 where nobody is known to make the request, and 403 where it is somebody who may not. */
export type Authenticate = (incoming: Incoming) => Promise<Authenticated>;

export type FindToken = (bearer: string) => Promise<PresentedToken | null>;

/** By the token that an Authorization header carries; what the gateway says of the request counts for nothing. */
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
      throw new Problem("unauthorized", "The token is unknown or its time is over.", unknownToken);
    }
    return { token, secret: bearer };
  };
}
