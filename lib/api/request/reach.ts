import type { Refusal } from "../../refusal.ts";
import type { Token } from "../../token/token.ts";
import { forbidden } from "./problem.ts";

/** Which keys a token reaches: those that begin with its prefix; without one, all. */
export function reaches({ prefix }: Pick<Token, "prefix">, key: string): boolean {
  return prefix === null || key.startsWith(prefix);
}

/** Says no more than the key alone tells: whether there is such a schedule, the caller does not learn. */
export function refuseForeignKey(token: Pick<Token, "prefix">, key: string): void {
  if (reaches(token, key)) return;
  throw beyond(token);
}

function beyond({ prefix }: Pick<Token, "prefix">): Refusal {
  return forbidden(`Your token reaches keys that begin with ${JSON.stringify(prefix)}.`);
}

/** Of a search under a prefix, what the token reaches; null where that is nothing at all. */
export function narrowed(
  { prefix: own }: Pick<Token, "prefix">,
  asked: string | undefined,
): { prefix: string | undefined } | null {
  if (own === null) return { prefix: asked };
  if (asked === undefined || own.startsWith(asked)) return { prefix: own };
  return asked.startsWith(own) ? { prefix: asked } : null;
}

/** As `narrowed`, for what is done and not only read: somebody who names what he does not reach is told so. */
export function narrowedOrRefused(
  token: Pick<Token, "prefix">,
  asked: string | undefined,
): string | undefined {
  const within = narrowed(token, asked);
  if (within === null) throw beyond(token);
  return within.prefix;
}

/** For what belongs to everybody: schedules of other prefixes depend on it. */
export function refusePrefixed(token: Pick<Token, "prefix">, what: string): void {
  if (token.prefix === null) return;
  throw forbidden(
    `${what} must be asked for with a token that reaches every key; yours reaches those that begin with ${JSON.stringify(token.prefix)}.`,
  );
}
