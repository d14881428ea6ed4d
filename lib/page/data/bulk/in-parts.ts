import { numberText } from "../amounts.ts";

/** Repeats a call until it has no cursor, and returns the sum of what was done. */
export async function inParts(
  call: (cursor: string | undefined) => Promise<{ done: number; cursor?: string }>,
  progress: (text: string) => void,
): Promise<number> {
  let done = 0;
  let cursor: string | undefined;
  do {
    const part = await call(cursor);
    done += part.done;
    cursor = part.cursor;
    progress(`${numberText(done)} schedules so far …`);
  } while (cursor !== undefined);
  return done;
}
