import type { Environment } from "./environment.ts";

/** The rate of one prefix, as text; a prefix of null stands for all without an entry of their own. */
interface PrefixRate {
  prefix: string | null;
  rate: string;
}

const form =
  "it takes a rate such as 1000/s for every prefix of tokens, and rates of single ones such as billing:=2000/s";

const rateForm = /^[1-9]\d{0,8}\/[smh]$/;

/** The beginning of a key. */
export const prefixForm = /^[^\s/?#%\\\p{Cc}][^/?#%\\\p{Cc}]{0,254}$/u;

/** The prefixes to which the queue of commands may be limited. */
export const ingestPrefixPattern = /^[^/?#%\\\s]{1,255}$/;
export const ingestPrefixForm = "it takes a prefix of keys";

/** Throws a sentence with the allowed form. */
export function parsePrefixRate(text: string): PrefixRate {
  // A prefix may contain `=`, and a rate does not.
  const at = text.lastIndexOf("=");
  const prefix = at < 0 ? null : text.slice(0, at);
  const rate = text.slice(at + 1);
  if (!rateForm.test(rate) || (prefix !== null && !prefixForm.test(prefix)))
    throw new Error(`${form}, not ${text}`);
  return { prefix, rate };
}

/**
 * The first name before the last `=` that two entries have, null if none has two: the prefix of a
 * rate, empty for every prefix, and the prefix and kind of a quota.
 */
export function namedTwice(texts: readonly string[]): string | null {
  const names = texts.map((text) => text.slice(0, Math.max(0, text.lastIndexOf("="))));
  return names.find((name, index) => names.indexOf(name) < index) ?? null;
}

/** The rates in `API_RATE_PER_PREFIX`, one per line, because prefixes may contain commas. */
export function prefixRatesFrom(env: Environment): ReadonlyMap<string | null, string> {
  const text = env["API_RATE_PER_PREFIX"];
  if (text === undefined || text === "") return new Map();
  const entries = text.split("\n");
  const twice = namedTwice(entries);
  if (twice !== null)
    throw new Error(
      `The environment variable API_RATE_PER_PREFIX has two rates for ${twice === "" ? "every prefix" : JSON.stringify(twice)}; it takes one for each.`,
    );
  return new Map(entries.map((entry) => parsed(entry)).map(({ prefix, rate }) => [prefix, rate]));
}

function parsed(entry: string): PrefixRate {
  try {
    return parsePrefixRate(entry);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    throw new Error(`The environment variable API_RATE_PER_PREFIX is not understood: ${fault}.`);
  }
}
