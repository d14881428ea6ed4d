import { parseAllowedPrincipal } from "../../config/allowed-principals.ts";
import { type Environment, flag, required } from "../../config/environment.ts";
import type { Sql } from "../../db/connect.ts";
import { findPrincipal, type Principal } from "../../token/principal.ts";
import { findToken, type PresentedToken } from "../../token/token.ts";
import { type Authenticate, byToken } from "./authenticate.ts";
import { byPrincipal, iamPrincipals, jwtPrincipals } from "./principals.ts";
import { stacksOr } from "./stack-callers.ts";

/**
 * The sign-in of callers that come through the gateway, and with `STACK_CALLERS` that of stacks,
 * whose requests do not.
 */
export function authenticateFrom(env: Environment, sql: Sql): Authenticate {
  const find = (principal: Principal) => findPrincipal(sql, principal);
  const fromGateway = selectedBy(env, sql, find);
  return flag(env, "STACK_CALLERS") ? stacksOr(fromGateway, find) : fromGateway;
}

/** The sign-in that `API_AUTH` selects; tokens by default. Only the selected one is active. */
function selectedBy(
  env: Environment,
  sql: Sql,
  find: (principal: Principal) => Promise<PresentedToken>,
): Authenticate {
  switch (env["API_AUTH"] ?? "") {
    case "":
    case "token":
      return byToken((bearer) => findToken(sql, bearer));
    case "iam":
      return byPrincipal(iamPrincipals(allowedFrom(env)), find);
    case "jwt":
      return byPrincipal(
        jwtPrincipals({
          scope: required(env, "API_JWT_SCOPE_CLAIM"),
          scopePrefix: env["API_JWT_SCOPE_PREFIX"] ?? "",
          prefix: env["API_JWT_PREFIX_CLAIM"],
          prefixEnd: env["API_JWT_PREFIX_END"] ?? "",
        }),
        find,
      );
    default:
      throw new Error(
        `The environment variable API_AUTH is "${env["API_AUTH"]}"; allowed are token, iam and jwt.`,
      );
  }
}

/** The principals of `API_PRINCIPALS`, one per line, because role names may contain commas. */
function allowedFrom(env: Environment) {
  return required(env, "API_PRINCIPALS").split("\n").map(parseAllowedPrincipal);
}
