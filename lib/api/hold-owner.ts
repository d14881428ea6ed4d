import { carillonsOwn } from "../schedule/holds.ts";
import type { Token } from "../token/token.ts";
import { forbidden } from "./router.ts";

/** A hold is its owner's; only an admin sets or releases one in another's name. */
export function ownerFor(token: Token, owner: string | null | undefined): string | undefined {
  if (owner === null || owner === undefined) return undefined;
  if (owner !== token.name && token.scope !== "admin") {
    throw forbidden(
      `Only a token of scope admin acts for another owner; yours is ${JSON.stringify(token.name)}.`,
    );
  }
  return owner;
}

/** What Carillon has held by itself, whoever may write may resume. */
export function resumedOwnerFor(token: Token, owner: string | null | undefined): string | undefined {
  return owner === carillonsOwn.owner ? owner : ownerFor(token, owner);
}
