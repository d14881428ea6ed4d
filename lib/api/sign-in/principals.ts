import * as z from "zod";
import { type AllowedPrincipals, allowedBy } from "../../config/allowed-principals.ts";
import { scopes } from "../../config/scopes.ts";
import { Refusal } from "../../refusal.ts";
import { keyFault } from "../../schedule/shape/schedule-key.ts";
import { iamName, jwtName, type Principal } from "../../token/principal.ts";
import type { PresentedToken } from "../../token/token.ts";
import { Problem } from "../request/problem.ts";
import type { Authenticate } from "./authenticate.ts";

/**
 * Reads the caller from the gateway's context; throws 401 where it names none, 403 where the caller
 * has no access.
 */
export type ReadPrincipal = (context: object) => Principal;

/** Reads only the gateway's context, never a header. */
export function byPrincipal(
  read: ReadPrincipal,
  find: (principal: Principal) => Promise<PresentedToken>,
): Authenticate {
  return async ({ context }) => {
    const principal = read(context);
    // A principal has no lasting secret, so its stored answers are as readable in the tables as
    // schedules and jobs are. Its prefix may differ between requests, so an answer for one prefix
    // is not returned for another.
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

/** Principals of IAM, allowed by their ARNs. */
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
      throw new Refusal("forbidden", `${userArn} is not among the principals that API_PRINCIPALS allows.`);
    return { name: known.name, identity: known.arn, scope: powers.scope, prefix: powers.prefix };
  };
}

/**
 * Maps a session to its role, ignoring the session name; null unless it is a role, a user or
 * root.
 */
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
  /** The claim with the scopes. */
  scope: string;
  /** The text with which Carillon's scopes begin in the scope claim, such as `carillon/`. */
  scopePrefix: string;
  /**
   * The claim with the caller's key prefix, or `*` for every key. Undefined: every caller reaches
   * every key.
   */
  prefix: string | undefined;
  /** Appended to the prefix, so that `team` does not reach the keys of `team2`. */
  prefixEnd: string;
}

const jwtContext = z.object({
  authorizer: z.object({ jwt: z.object({ claims: z.record(z.string(), z.unknown()) }) }),
});

/** Callers with a JWT that the gateway has verified. */
export function jwtPrincipals({ scope, scopePrefix, prefix, prefixEnd }: JwtClaims): ReadPrincipal {
  return (context) => {
    const claims = jwtContext.safeParse(context).data?.authorizer.jwt.claims;
    if (claims === undefined)
      throw new Problem("unauthorized", "Send `Authorization: Bearer <JWT>`.", {
        "www-authenticate": 'Bearer realm="carillon"',
      });
    const subject = claims["sub"];
    if (typeof subject !== "string" || subject === "")
      throw new Refusal("forbidden", "Your JWT has no claim `sub`, which the audit needs.");
    const given = wordsOf(claims[scope]);
    const highest = scopes.findLast((one) => given.includes(`${scopePrefix}${one}`));
    if (highest === undefined) {
      const known = scopes.map((one) => `${scopePrefix}${one}`).join(", ");
      throw new Refusal("forbidden", `The claim \`${scope}\` of your JWT has none of the scopes ${known}.`);
    }
    return {
      name: jwtName(subject),
      identity: `jwt ${subject}`,
      scope: highest,
      prefix: prefix === undefined ? null : prefixIn(claims, prefix, prefixEnd),
    };
  };
}

/** The key prefix in a claim. Refuses a JWT without the claim, which would reach every key. */
function prefixIn(claims: Readonly<Record<string, unknown>>, name: string, end: string): string | null {
  const claim = claims[name];
  if (typeof claim !== "string" || claim === "")
    throw new Refusal(
      "forbidden",
      `Your JWT has no claim \`${name}\`, which must hold the prefix of your keys.`,
    );
  if (claim === "*") return null;
  const prefix = `${claim}${end}`;
  const fault = keyFault(prefix);
  if (fault !== null)
    throw new Refusal(
      "forbidden",
      `The claim \`${name}\` of your JWT is not a valid prefix of keys: it ${fault}.`,
    );
  return prefix;
}

/** The words of a claim. An HTTP API writes a list in a claim as `[one two]`. */
function wordsOf(claim: unknown): string[] {
  const text = Array.isArray(claim) ? claim.join(" ") : typeof claim === "string" ? claim : "";
  return text
    .replace(/^\[(.*)\]$/s, "$1")
    .split(/\s+/)
    .filter((word) => word !== "");
}
