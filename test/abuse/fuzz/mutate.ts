import type { Dice } from "../../race/seeded.ts";
import { oddValues } from "./odd-values.ts";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The same JSON with one place changed: a value replaced, a field removed, added or repeated. */
export function mutated(value: unknown, names: readonly string[], dice: Dice): unknown {
  if (Array.isArray(value) && value.length > 0 && dice.chance(0.8)) {
    const at = dice.between(0, value.length - 1);
    if (dice.chance(0.2)) return [...value, ...value];
    return value.map((each, index) => (index === at ? mutated(each, names, dice) : each));
  }
  if (isObject(value) && dice.chance(0.9)) return mutatedObject(value, names, dice);
  if (typeof value === "string" && isPlain(value) && dice.chance(0.5)) return mutatedText(value, dice);
  if (typeof value === "number" && dice.chance(0.5)) return value * dice.pick([-1, 0, 10, 1e9, 0.5]);
  return dice.pick(oddValues);
}

function mutatedObject(
  value: Record<string, unknown>,
  names: readonly string[],
  dice: Dice,
): Record<string, unknown> {
  const own = Object.keys(value);
  if (own.length === 0 || dice.chance(0.25)) return { ...value, [dice.pick(names)]: dice.pick(oddValues) };
  const name = dice.pick(own);
  if (dice.chance(0.15)) return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name));
  return { ...value, [name]: mutated(value[name], names, dice) };
}

/**
 * An address is only replaced as a whole: a character changed could make it that of another host, and
 * no attack leaves this machine.
 */
const isPlain = (text: string): boolean => !text.includes("//");

const characters = [..."0123456789*/,-LW#?H @.:TZ+&%\u0000\u00e4\ud83d\ude00"];

function mutatedText(text: string, dice: Dice): string {
  const at = dice.between(0, text.length);
  const character = dice.pick(characters);
  const rest = dice.chance(0.5) ? at : at + 1;
  return `${text.slice(0, at)}${character}${text.slice(rest)}`;
}

/** The text with some of its bytes changed, so that it may be no JSON and no UTF-8. */
export function corrupted(text: string, dice: Dice): Buffer {
  const bytes = Buffer.from(text.replaceAll("//", "--"));
  for (let count = dice.between(1, 3); count > 0 && bytes.length > 0; count--)
    bytes[dice.between(0, bytes.length - 1)] = dice.between(0, 255);
  return dice.chance(0.3) ? bytes.subarray(0, dice.between(0, bytes.length)) : bytes;
}
