import { numberText } from "../amounts.ts";

/** Repeats a call until it has no cursor or the reader stops it, and returns the sum of what was done. */
export async function inParts(
  call: (cursor: string | undefined) => Promise<{ done: number; cursor?: string }>,
  progress: (so: { text: string }) => void,
  isStopped: () => boolean = () => false,
): Promise<{ done: number; isStopped: boolean }> {
  let done = 0;
  let cursor: string | undefined;
  do {
    const part = await call(cursor);
    done += part.done;
    cursor = part.cursor;
    progress({ text: `${numberText(done)} schedules so far …` });
  } while (cursor !== undefined && !isStopped());
  return { done, isStopped: cursor !== undefined };
}
