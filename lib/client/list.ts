import { type ListOptions, type Page, Pages } from "./pages.ts";
import type { Send } from "./transport.ts";

/** Every list of the API is read in the same way; what is not about the reading itself narrows it. */
export function listOf<Item>(
  send: Send,
  path: readonly string[],
  { limit, cursor: begin, signal, timeout, ...filter }: ListOptions & object = {},
): Pages<Item> {
  const options = { signal, timeout };
  const read = async (cursor: string | undefined) =>
    (await send<Page<Item>>({ method: "GET", path, query: { ...filter, limit, cursor }, options })).body;
  return new Pages(read, begin);
}
