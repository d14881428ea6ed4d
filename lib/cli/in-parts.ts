import type { Call } from "./command.ts";

/** Calls an operation in parts: the cursor of each answer continues with the next part. */
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
