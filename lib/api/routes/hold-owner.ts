import * as z from "zod";
import { holderName } from "../../command/schedule-input.ts";
import { carillonsOwn } from "../../schedule/holds.ts";
import type { Token } from "../../token/token.ts";
import type { Operations } from "../operations/operations.ts";
import { forbidden } from "../request/problem.ts";

type Verb = "pause" | "resume";

interface Asking {
  tokens: Operations["tokens"];
  token: Token;
}

/**
 * The owner that a pause names, or undefined if it names none. Refuses a caller that may not act
 * for that owner: only an admin acts for another one, and an admin with a prefix only for owners
 * within that prefix.
 */
export async function ownerFor(
  { tokens, token }: Asking,
  owner: string | null | undefined,
): Promise<string | undefined> {
  if (owner === null || owner === undefined) return undefined;
  refuseOwner("pause", { token, beyond: await beyondOf(tokens, token, [owner]) }, owner);
  return owner;
}

/**
 * As `ownerFor`, for a resume. Every caller that may write may also release the holds that Carillon
 * has set by itself.
 */
export async function resumedOwnerFor(
  asking: Asking,
  owner: string | null | undefined,
): Promise<string | undefined> {
  return owner === carillonsOwn.owner ? owner : ownerFor(asking, owner);
}

// An owner that is not a valid name is skipped here: the operation that names it is refused later.
const owning = z.object({ owner: holderName });
const naming = z.union([
  z.object({ pause: owning }).transform(({ pause }) => pause.owner),
  z.object({ resume: owning }).transform(({ resume }) => resume.owner),
]);

/** Checks the owners of all operations of a batch with one query. */
export async function ownersRefused(
  { tokens, token }: Asking,
  inputs: readonly unknown[],
): Promise<(verb: Verb, owner: string) => void> {
  const named = inputs.flatMap((input) => naming.safeParse(input).data ?? []);
  const beyond = await beyondOf(tokens, token, named);
  return (verb, owner) => refuseOwner(verb, { token, beyond }, owner);
}

/** Returns the names that belong to tokens outside the admin's prefix. */
async function beyondOf(
  tokens: Operations["tokens"],
  { name, prefix, scope }: Token,
  named: readonly string[],
): Promise<ReadonlySet<string>> {
  const others = [...new Set(named)].filter((owner) => owner !== name);
  if (prefix === null || scope !== "admin" || others.length === 0) return new Set();
  return new Set(await tokens.namesBeyond(others, prefix));
}

function refuseOwner(
  verb: Verb,
  { token, beyond }: { token: Token; beyond: ReadonlySet<string> },
  owner: string,
): void {
  if (owner === token.name || (verb === "resume" && owner === carillonsOwn.owner)) return;
  if (token.scope !== "admin")
    throw forbidden(
      `Only a token of scope admin may act for another owner; your token's name is ${JSON.stringify(token.name)}.`,
    );
  if (beyond.has(owner))
    throw forbidden(`The owner ${JSON.stringify(owner)} is a token outside your prefix.`);
}
