import type { PresentedToken } from "../token/token.ts";
import { Problem } from "./problem.ts";
import { unknownToken } from "./problem-answer.ts";

export type FindToken = (bearer: string) => Promise<PresentedToken | null>;

/** The token that an Authorization header carries; 401 where it carries none that is known. */
export async function authenticate(
  authorization: string | undefined,
  findToken: FindToken,
): Promise<PresentedToken> {
  const bearer = /^bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "")?.[1];
  if (bearer === undefined) {
    throw new Problem("unauthorized", "Send `Authorization: Bearer <token>`.", {
      "www-authenticate": 'Bearer realm="carillon"',
    });
  }
  const token = await findToken(bearer);
  if (token === null) {
    throw new Problem("unauthorized", "The token is unknown or its time is over.", unknownToken);
  }
  return token;
}
