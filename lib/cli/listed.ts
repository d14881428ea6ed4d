import type { Pages } from "../client/main.ts";
import type { Call } from "./command.ts";
import type { listOptions } from "./common-options.ts";

const byDefault = 50;

/** Reads a list up to the limit, and notes on stderr if there are more entries. */
export async function someOf<Item>(
  { given, out }: Call<keyof typeof listOptions>,
  list: Pages<Item>,
): Promise<Item[]> {
  const most = given.flag("all")
    ? Number.POSITIVE_INFINITY
    : (given.number("limit", { min: 1 }) ?? byDefault);
  const items: Item[] = [];
  for await (const item of list) {
    if (items.length >= most) {
      out.note(`There are more than ${most}: use --limit or --all.`);
      break;
    }
    items.push(item);
  }
  return items;
}

/** One more entry than will be shown, so that the caller learns whether there are more. */
export function pageSize({ given }: Call<keyof typeof listOptions>): number {
  return given.flag("all") ? 100 : Math.min(100, (given.number("limit", { min: 1 }) ?? byDefault) + 1);
}
