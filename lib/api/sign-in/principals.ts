import * as z from "zod";
import { type AllowedPrincipals, allowedBy } from "../../config/allowed-principals.ts";
import { scopes } from "../../config/scopes.ts";
import { Refusal } from "../../refusal.ts";
import { keyFault } from "../../schedule/shape/schedule-key.ts";
import { iamName, jwtName, type Principal } from "../../token/principal.ts";
import type { PresentedToken } from "../../token/token.ts";
import { Problem } from "../request/problem.ts";
import type { Authenticate } from "./authenticate.ts";

/** Who the gateway says makes a request; 401 where it says nothing, 403 where they may not. */
export type ReadPrincipal = (context: object) => Principal;

/** By what the gateway says alone: no header is looked at. */
export function byPrincipal(
  read: ReadPrincipal,
  find: (principal: Principal) => Promise<PresentedToken>,
): Authenticate {
  return async ({ context }) => {
    const principal = read(context);
    // There is no secret that only they know and that stays the same: what is kept of their requests is as open to whoever reads the
    // tables as schedules and jobs are. Their prefix may be another one with each request, and what was answered under one is not told
    // under another.
    const secret = JSON.stringify([principal.identity, principal.prefix]);
    return { token: await find(principal), secret };
  };
}

const iamContext = z.union([
  z
    .object({ authorizer: z.object({ iam: z.object({ userArn: z.string() }) }) })
    .transform(({ authorizer }) => authorizer.iam.userArn),
  z.object({ identity: z.object({ userArn: z.string() }) }).transform(({ identity }) => identity.userArn),
]);

/** The principals of IAM that are allowed by their ARNs. */
export function iamPrincipals(allowed: readonly AllowedPrincipals[]): ReadPrincipal {
  return (context) => {
    const userArn = iamContext.safeParse(context).data;
    if (userArn === undefined)
      throw new Problem("unauthorized", "Sign the request with AWS Signature Version 4.", {
        "www-authenticate": 'AWS4-HMAC-SHA256 realm="carillon"',
      });
    const known = principalOf(userArn);
    const powers = known === null ? null : allowedBy(allowed, known.arn);
    if (known === null || powers === null)
      throw new Refusal("forbidden", `${userArn} is not among the principals that may call this API.`);
    return { name: known.name, identity: known.arn, scope: powers.scope, prefix: powers.prefix };
  };
}

/** Sessions of a role are that role, under whichever name they were begun; null for what is neither role, user nor root. */
function principalOf(userArn: string): { arn: string; name: string } | null {
  const [, partition, account = "", kind = "", path = ""] =
    /^arn:([\w-]+):(?:iam|sts)::(\d{12}):(root|user|assumed-role)(?:\/(.+))?$/.exec(userArn) ?? [];
  const of = `arn:${partition}:iam::${account}`;
  const parts = path.split("/");
  switch (kind) {
    case "root":
      return { arn: `${of}:root`, name: iamName({ account, kind, name: "root" }) };
    case "user": {
      const name = parts.at(-1) ?? "";
      return { arn: `${of}:user/${name}`, name: iamName({ account, kind, name }) };
    }
    case "assumed-role": {
      const [name = ""] = parts;
      return { arn: `${of}:role/${name}`, name: iamName({ account, kind: "role", name }) };
    }
    default:
      return null;
  }
}

export interface JwtClaims {
  /** Holds the scopes. */
  scope: string;
  /** What Carillon's own scopes begin with among all others. */
  scopePrefix: string;
  /** Holds what the keys begin with that somebody reaches, or `*` for all. Undefined: all reach every key. */
  prefix: string | undefined;
  /** Stands behind that in keys, so that one does not reach what begins with the other's longer name. */
  prefixEnd: string;
}

const jwtContext = z.object({
  authorizer: z.object({ jwt: z.object({ claims: z.record(z.string(), z.unknown()) }) }),
});

/** Those for whom a JWT speaks that the gateway has found to be good. */
export function jwtPrincipals({ scope, scopePrefix, prefix, prefixEnd }: JwtClaims): ReadPrincipal {
  return (context) => {
    const claims = jwtContext.safeParse(context).data?.authorizer.jwt.claims;
    if (claims === undefined)
      throw new Problem("unauthorized", "Send `Authorization: Bearer <JWT>`.", {
        "www-authenticate": 'Bearer realm="carillon"',
      });
    const subject = claims["sub"];
    if (typeof subject !== "string" || subject === "")
      throw new Refusal("forbidden", "Your JWT has no `sub`, so nobody could say who did what.");
    const given = wordsOf(claims[scope]);
    const highest = scopes.findLast((one) => given.includes(`${scopePrefix}${one}`));
    if (highest === undefined) {
      const known = scopes.map((one) => `${scopePrefix}${one}`).join(", ");
      throw new Refusal("forbidden", `Your JWT has none of ${known} in its claim \`${scope}\`.`);
    }
    return {
      name: jwtName(subject),
      identity: `jwt ${subject}`,
      scope: highest,
      prefix: prefix === undefined ? null : prefixIn(claims, prefix, prefixEnd),
    };
  };
}

/** Who has no such claim reaches nothing, rather than everything. */
function prefixIn(claims: Readonly<Record<string, unknown>>, name: string, end: string): string | null {
  const claim = claims[name];
  if (typeof claim !== "string" || claim === "")
    throw new Refusal("forbidden", `Your JWT has no claim \`${name}\`, which says which keys you reach.`);
  if (claim === "*") return null;
  const prefix = `${claim}${end}`;
  const fault = keyFault(prefix);
  if (fault !== null)
    throw new Refusal("forbidden", `The claim \`${name}\` of your JWT is no prefix of keys: it ${fault}.`);
  return prefix;
}

/** An HTTP API writes a claim that is a list as `[one two]`. */
function wordsOf(claim: unknown): string[] {
  const text = Array.isArray(claim) ? claim.join(" ") : typeof claim === "string" ? claim : "";
  return text
    .replace(/^\[(.*)\]$/s, "$1")
    .split(/\s+/)
    .filter((word) => word !== "");
}
