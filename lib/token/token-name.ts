import { keyFault } from "../schedule/shape/schedule-key.ts";

export const tokenNameMax = 100;

/** The actors of changes that are not made with a token. */
const reserved = /^carillon$|^(carillon|handler|queue|sql):/i;

/** Names of principals, which no token may have. */
export const principalNames = /^(iam|jwt|stack):/i;

export function isPrincipalName(name: string): boolean {
  return principalNames.test(name);
}

/** The reason why a text cannot be the name of a token; null if it can. */
export function tokenNameFault(name: string): string | null {
  if (name.length > tokenNameMax) return `takes 1 to ${tokenNameMax} characters`;
  if (reserved.test(name))
    return "may not be `carillon`, nor begin with `carillon:`, `handler:`, `queue:` or `sql:`: these are names of parts of Carillon";
  if (isPrincipalName(name))
    return "may not begin with `iam:`, `jwt:` or `stack:`: these are names of callers that need no token";
  return keyFault(name);
}
