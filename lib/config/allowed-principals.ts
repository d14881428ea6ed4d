import { type Scope, scopes } from "./scopes.ts";

/** A principal of IAM that may call the API, and its rights. */
export interface AllowedPrincipals {
  /** The ARN of a role or user. With `*` at the end it matches every ARN with this beginning. */
  arn: string;
  scope: Scope;
  prefix: string | null;
}

// An ARN without the path of the role or user, because the signature of a request for a role does
// not contain the path.
const principalArn = /^arn:[\w-]+:iam::\d{12}:(root|(role|user)\/[\w+=,.@-]{0,64}\*?)$/;

/** The beginning of a key. */
const prefixForm = /^[^/?#%\\\p{Cc}]{1,255}$/u;

export const allowedForm =
  "it takes principals with a scope and perhaps a prefix of keys, such as `arn:aws:iam::123456789012:role/billing write billing:`";

/** Throws a sentence with the allowed form. */
export function parseAllowedPrincipal(text: string): AllowedPrincipals {
  const [, arn = "", asked, prefix] = /^(\S+) +(\S+)(?: +(.+))?$/.exec(text.trim()) ?? [];
  const scope = scopes.find((one) => one === asked);
  if (scope === undefined) throw new Error(allowedForm);
  if (!principalArn.test(arn) || /\/$/.test(arn))
    throw new Error(
      `${allowedForm}; ${JSON.stringify(arn)} is not the ARN of a role or user without a path before its name`,
    );
  if (prefix !== undefined && !prefixForm.test(prefix))
    throw new Error(
      `the prefix ${JSON.stringify(prefix)} is not the beginning of a key: it takes up to 255 characters, without / ? # % \\`,
    );
  return { arn, scope, prefix: prefix ?? null };
}

/** The first matching entry gives the rights of a principal; null if none matches. */
export function allowedBy(allowed: readonly AllowedPrincipals[], arn: string): AllowedPrincipals | null {
  const fits = (pattern: string) =>
    pattern.endsWith("*") ? arn.startsWith(pattern.slice(0, -1)) : arn === pattern;
  return allowed.find((one) => fits(one.arn)) ?? null;
}
