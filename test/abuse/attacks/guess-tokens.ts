import type { Dice } from "../../race/seeded.ts";
import type { Attack, Tokens } from "../attack.ts";
import { inParallel } from "../caller.ts";

const atOnce = 16;
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

type Guess = (token: string, dice: Dice) => string;

const random = (length: number, dice: Dice) =>
  Array.from({ length }, () => letters[dice.between(0, letters.length - 1)]).join("");

/** The values of `Authorization`, each near a real one. */
const guesses: readonly Guess[] = [
  (token, dice) => `Bearer carillon_${random(token.length - 9, dice)}`,
  (_, dice) => `Bearer ${random(dice.between(1, 200), dice)}`,
  // One character is another one.
  (token, dice) => {
    const at = dice.between(0, token.length - 1);
    const other = dice.pick([...letters].filter((letter) => letter !== token[at]));
    return `Bearer ${token.slice(0, at)}${other}${token.slice(at + 1)}`;
  },
  (token, dice) => `Bearer ${token.slice(0, dice.between(1, token.length - 1))}`,
  (token, dice) => `Bearer ${token}${random(1, dice)}`,
  (token) => `Bearer ${token.toUpperCase()}`,
  (token) => `Bearer ${token} ${token}`,
  (token) => `Bearer ${token},${token}`,
  (token) => `Bearer "${token}"`,
  (token) => `Basic ${Buffer.from(`carillon:${token}`).toString("base64")}`,
  (token) => `Token ${token}`,
  (token) => token,
  () => "Bearer",
  () => "Bearer ",
  (_, dice) => `Bearer ${random(8_000, dice)}`,
  () => "Bearer ' or 1=1 --",
];

const paths = ["/v1/schedules", "/v1/tokens", "/v1/token", "/v1/openapi.json", "/v1/none"];

const targetsOf = (tokens: Tokens) => [tokens.write, tokens.admin, tokens.owner];

export const guessTokens: Attack = {
  name: "tokens",
  does: "guesses tokens: random ones, parts of a real one, a character beside it, other schemes",
  holds: "each guess is a 401, on every path",
  async run({ caller, answers, tokens, dice }, { guesses: count }) {
    await inParallel(count, atOnce, async () => {
      const authorization = dice.pick(guesses)(dice.pick(targetsOf(tokens)), dice);
      const answer = await caller.send({ method: "GET", path: dice.pick(paths), headers: { authorization } });
      if (answer !== undefined && answer.status !== 401)
        answers.fault(
          `a guess was answered ${answer.status}: ${JSON.stringify(authorization.slice(0, 12))} (${authorization.length} characters)`,
        );
    });
  },
};
