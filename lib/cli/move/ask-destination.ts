import { CarillonUnreachable, isDenied } from "../../client/main.ts";
import type { Installation } from "./installations.ts";

/** Refuses a destination that could not take schedules in, before the move begins at the source. */
export async function askDestination(there: Installation, signal: AbortSignal): Promise<void> {
  const { name, scope, prefix } = await ownToken(there, signal);
  if (scope === "admin" && prefix === null) return;
  const reach = prefix === null ? "all keys" : `keys that begin with ${prefix}`;
  throw new Error(
    `A move needs a token with the scope admin for all keys. The token ${name} of ${there.url} has the scope ${scope}, for ${reach}.`,
  );
}

async function ownToken({ probe, url }: Installation, signal: AbortSignal) {
  try {
    return await probe.tokens.own({ signal });
  } catch (error) {
    if (!isDenied(error)) throw error;
    throw new Error(`${url} refuses the token of the move: ${error.detail}`, { cause: error });
  }
}

/** The cause why an installation cannot be asked: it does not answer, or refuses the token. Null if it can. */
export async function whyOutOfReach({ probe }: Installation, signal: AbortSignal): Promise<string | null> {
  try {
    await probe.tokens.own({ signal });
    return null;
  } catch (error) {
    if (error instanceof CarillonUnreachable || isDenied(error)) return error.message;
    throw error;
  }
}
