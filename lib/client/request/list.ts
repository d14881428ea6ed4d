import { type ListOptions, type Page, Pages } from "./pages.ts";
import type { Send } from "./transport.ts";

/** Reads any list of the API; parameters that do not concern paging are its filter. */
export function listOf<Item, Head = unknown>(
  send: Send,
  path: readonly string[],
  { limit, cursor: begin, signal, timeout, ...filter }: ListOptions & object = {},
): Pages<Item, Head> {
  const options = { signal, timeout };
  const read = async (cursor: string | undefined) =>
    (await send<Page<Item> & Head>({ method: "GET", path, query: { ...filter, limit, cursor }, options }))
      .body;
  return new Pages(read, begin);
}
