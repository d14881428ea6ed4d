import type { Call } from "./command.ts";

/** The most entries of one call; with the cursor that it answers the next one goes on. */
export async function inParts(
  { out }: Pick<Call<never>, "out">,
  total: { done: number },
  act: (cursor: string | undefined) => Promise<{ done: number; cursor?: string | undefined }>,
): Promise<void> {
  for (let cursor: string | undefined; ; ) {
    const part = await act(cursor);
    total.done += part.done;
    cursor = part.cursor;
    if (cursor === undefined) return;
    out.note(`${total.done} so far`);
  }
}
