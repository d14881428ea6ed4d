import { CarillonInputError, isConflict, isInvalid, isNotFound } from "../client/main.ts";
import { escaped } from "../log/unprintable.ts";
import type { Call } from "./command.ts";
import { PartlyDone } from "./fault.ts";
import { printable } from "./output/style.ts";

/** Runs an action for one word after the other; a failure of one does not stop the others. */
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
        out.isJson
          ? escaped(JSON.stringify({ error: { of: word, detail } }))
          : printable(`${word}: ${detail}`),
      );
      failures.push(error);
    }
  }
  if (failures.length === 0) return;
  // The cause decides the exit code; a missing item comes first, because scripts test for it.
  const cause = failures.find(isNotFound) ?? failures[0];
  throw new PartlyDone(`${failures.length} of ${words.length} failed.`, { cause });
}

/**
 * Whether an error concerns one item only. Faults of the token or the server would repeat for every
 * item, so they stop the command.
 */
function isOfOne(error: unknown): error is Error {
  return isNotFound(error) || isConflict(error) || isInvalid(error) || error instanceof CarillonInputError;
}
