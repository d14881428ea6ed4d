import { type Scope, scopes } from "./scopes.ts";

/** Which principals of IAM may call, and what they may do. */
export interface AllowedPrincipals {
  /** Of a role or user, or with `*` at the end, of all whose ARNs begin so. */
  arn: string;
  scope: Scope;
  prefix: string | null;
}

// Without the path that a role or user may have: what signs a request for a role does not tell it.
const principalArn = /^arn:[\w-]+:iam::\d{12}:(root|(role|user)\/[\w+=,.@-]{0,64}\*?)$/;

/** What the beginning of a key may hold. */
const prefixForm = /^[^/?#%\\\p{Cc}]{1,255}$/u;

export const allowedForm =
  "it takes principals with a scope and perhaps a prefix of keys, such as `arn:aws:iam::123456789012:role/billing write billing:`";

/** Throws a sentence that says what it takes. */
export function parseAllowedPrincipal(text: string): AllowedPrincipals {
  const [, arn = "", asked, prefix] = /^(\S+) +(\S+)(?: +(.+))?$/.exec(text.trim()) ?? [];
  const scope = scopes.find((one) => one === asked);
  if (scope === undefined) throw new Error(allowedForm);
  if (!principalArn.test(arn) || /\/$/.test(arn))
    throw new Error(
      `${allowedForm}; ${JSON.stringify(arn)} is no ARN of a role or user without the path before its name`,
    );
  if (prefix !== undefined && !prefixForm.test(prefix))
    throw new Error(
      `the prefix ${JSON.stringify(prefix)} holds what no key holds: none of / ? # % \\ and no more than 255 characters`,
    );
  return { arn, scope, prefix: prefix ?? null };
}

/** The first that fits says what a principal may do; null where none does. */
export function allowedBy(allowed: readonly AllowedPrincipals[], arn: string): AllowedPrincipals | null {
  const fits = (pattern: string) =>
    pattern.endsWith("*") ? arn.startsWith(pattern.slice(0, -1)) : arn === pattern;
  return allowed.find((one) => fits(one.arn)) ?? null;
}
