import { namedTwice, prefixForm } from "./prefix-rates.ts";

/** The share of the workers that a prefix has beside others with many jobs due at once. */
export interface PrefixWeight {
  prefix: string;
  weight: number;
}

const weightMax = 100;

const form = `it takes a prefix and its weight, a whole number from 1 to ${weightMax}, such as billing:=3`;

/** Reads an entry of the setting `prefixWeights`. Throws a sentence with the allowed form. */
export function parsePrefixWeight(text: string): PrefixWeight {
  // A prefix may contain `=`, and a weight does not.
  const { prefix = "", weight = "" } = /^(?<prefix>.+)=(?<weight>[1-9]\d{0,2})$/u.exec(text)?.groups ?? {};
  if (!prefixForm.test(prefix) || Number(weight) > weightMax) throw new Error(`${form}, not ${text}`);
  return { prefix, weight: Number(weight) };
}

/** Reads all entries, of which no two have the same prefix. */
export function parsePrefixWeights(texts: readonly string[]): PrefixWeight[] {
  const twice = namedTwice(texts);
  if (twice !== null) throw new Error(`it takes one weight for ${twice}, not two`);
  return texts.map(parsePrefixWeight);
}
