import { CarillonInputError, isConflict, isInvalid, isNotFound } from "../client/main.ts";
import type { Call } from "./command.ts";
import { PartlyDone } from "./fault.ts";
import { printable } from "./output/style.ts";

/** One after the other; what cannot be done with one keeps nobody from the others. */
export async function eachOf(
  { words, out }: Pick<Call, "words" | "out">,
  act: (word: string) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const word of words) {
    try {
      await act(word);
    } catch (error) {
      if (words.length === 1 || !isOfOne(error)) throw error;
      const detail = error.message;
      out.note(
        out.isJson ? JSON.stringify({ error: { of: word, detail } }) : printable(`${word}: ${detail}`),
      );
      failures.push(error);
    }
  }
  if (failures.length === 0) return;
  // What is missing is what scripts ask for first.
  const cause = failures.find(isNotFound) ?? failures[0];
  throw new PartlyDone(`${failures.length} of ${words.length} could not be done.`, { cause });
}

/** Rather than of the token or the server, which would be the next one's fault too. */
function isOfOne(error: unknown): error is Error {
  return isNotFound(error) || isConflict(error) || isInvalid(error) || error instanceof CarillonInputError;
}
