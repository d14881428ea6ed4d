import type { Refusal } from "../../refusal.ts";
import type { Token } from "../../token/token.ts";
import { forbidden } from "./problem.ts";

/**
 * Whether a token reaches a key: its prefix must be the start of the key; a token without a prefix
 * reaches every key, and alone what has no readable key.
 */
export function reaches({ prefix }: Pick<Token, "prefix">, key: string | null): boolean {
  return prefix === null || key?.startsWith(prefix) === true;
}

/** The answer depends only on the key, so the caller does not learn whether the schedule exists. */
export function refuseForeignKey(token: Pick<Token, "prefix">, key: string): void {
  if (reaches(token, key)) return;
  throw beyond(token);
}

function beyond({ prefix }: Pick<Token, "prefix">): Refusal {
  return forbidden(`Your token reaches keys that begin with ${JSON.stringify(prefix)}.`);
}

/**
 * The prefix of a search, limited to the keys that the token reaches; null where it reaches none of
 * them.
 */
export function narrowed(
  { prefix: own }: Pick<Token, "prefix">,
  asked: string | undefined,
): { prefix: string | undefined } | null {
  if (own === null) return { prefix: asked };
  if (asked === undefined || own.startsWith(asked)) return { prefix: own };
  return asked.startsWith(own) ? { prefix: asked } : null;
}

/** As `narrowed`, for changes and for numbers, of which none would mislead: a prefix beyond the token's is refused. */
export function narrowedOrRefused(
  token: Pick<Token, "prefix">,
  asked: string | undefined,
): string | undefined {
  const within = narrowed(token, asked);
  if (within === null) throw beyond(token);
  return within.prefix;
}

/** Refuses a token with a prefix, for resources that schedules of every prefix share. */
export function refusePrefixed(token: Pick<Token, "prefix">, what: string): void {
  if (token.prefix === null) return;
  throw forbidden(
    `${what} needs a token that reaches every key; yours reaches keys that begin with ${JSON.stringify(token.prefix)}.`,
  );
}
