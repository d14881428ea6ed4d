import { keyFault } from "../schedule/shape/schedule-key.ts";

export const tokenNameMax = 100;

/** What stands as the actor of changes that no token makes. */
const reserved = /^carillon$|^(carillon|handler|queue|sql):/i;

/** Those for whom the gateway vouches have names of their own, which no token takes. */
export const principalNames = /^(iam|jwt):/i;

export function isPrincipalName(name: string): boolean {
  return principalNames.test(name);
}

/** Why a string cannot be the name of a token; null if it can. */
export function tokenNameFault(name: string): string | null {
  if (name.length > tokenNameMax) return `takes 1 to ${tokenNameMax} characters`;
  if (reserved.test(name))
    return "may not be `carillon`, nor begin with `carillon:`, `handler:`, `queue:` or `sql:`: that is what does things by itself";
  if (isPrincipalName(name))
    return "may not begin with `iam:` or `jwt:`: so do the names of those for whom the gateway vouches";
  return keyFault(name);
}
