import { covers } from "../../schedule/hold-reach.ts";
import { carillonsOwn, type Hold } from "../../schedule/holds.ts";
import { allows, type Token } from "../../token/token.ts";
import { forbidden } from "../request/problem.ts";

type Verb = "pause" | "resume";

type Acting = Pick<Token, "name" | "scope">;

/**
 * The owner that a pause names, or undefined if it names none. Refuses a caller that may not act
 * for that owner. An admin may act for any name, also with a prefix: a hold keeps the reach of its
 * maker, and a look-up of the name would tell which tokens exist.
 */
export function ownerFor(token: Acting, owner: string | null | undefined): string | undefined {
  return named("pause", token, owner);
}

/**
 * As `ownerFor`, for a resume. Every caller that may write may also release the holds that Carillon
 * has set by itself.
 */
export function resumedOwnerFor(token: Acting, owner: string | null | undefined): string | undefined {
  return named("resume", token, owner);
}

function named(verb: Verb, token: Acting, owner: string | null | undefined): string | undefined {
  if (owner === null || owner === undefined) return undefined;
  refuseOwner(token, verb, owner);
  return owner;
}

/** Whether the token may release a hold that stands: by its scope, by the owner, and by the keys of the maker. */
export function mayRelease(
  token: Token,
  { scope, owner, reach }: Pick<Hold, "scope" | "owner" | "reach">,
): boolean {
  const isCarillons = scope === "schedule" && owner === carillonsOwn.owner;
  return (
    allows(token, "write") &&
    (token.scope === "admin" || owner === token.name || isCarillons) &&
    covers({ reach: { prefix: token.prefix ?? "", team: token.team ?? "" } }, { reach })
  );
}

export function refuseOwner(token: Acting, verb: Verb, owner: string): void {
  if (owner === token.name || (verb === "resume" && owner === carillonsOwn.owner)) return;
  if (token.scope !== "admin")
    throw forbidden(
      `Only a token of scope admin may act for another owner; your token's name is ${JSON.stringify(token.name)}.`,
    );
}
