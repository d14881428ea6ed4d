import { keyFault } from "../schedule/schedule-key.ts";

export const tokenNameMax = 100;

/** What stands as the actor of changes that no token makes. */
const reserved = /^carillon$|^(carillon|handler|queue|sql):/i;

/** Why a string cannot be the name of a token; null if it can. */
export function tokenNameFault(name: string): string | null {
  if (name.length > tokenNameMax) return `takes 1 to ${tokenNameMax} characters`;
  if (reserved.test(name))
    return "may not be `carillon`, nor begin with `carillon:`, `handler:`, `queue:` or `sql:`: that is what does things by itself";
  return keyFault(name);
}
