import type { Pages } from "../client/main.ts";
import type { Call } from "./command.ts";
import type { listOptions } from "./common-options.ts";
import type { Output } from "./output/output.ts";
import { printable } from "./output/style.ts";
import { grouped } from "./output/table.ts";

const byDefault = 50;

/** How many entries a list has; `more` where counting stopped at its limit. */
export interface Total {
  count: number;
  more: boolean;
}

/**
 * Reads a list up to the limit, and notes on stderr if there are more entries: how many, where the
 * API counts them.
 */
export async function someOf<Item>(
  { given, out }: Call<keyof typeof listOptions>,
  list: Pages<Item>,
  total?: () => Promise<Total>,
): Promise<Item[]> {
  const most = given.flag("all")
    ? Number.POSITIVE_INFINITY
    : (given.number("limit", { min: 1 }) ?? byDefault);
  const items: Item[] = [];
  let read = 0;
  for await (const page of list.pages()) {
    items.push(...page.items);
    if (items.length > most || (items.length === most && page.cursor !== undefined)) break;
    if (page.cursor === undefined) return items;
    read += 1;
    if (isNoted(read)) out.note(searchingText(read, items.length));
  }
  out.note(`${await moreText(most, { total, isSure: items.length > most })}: use --limit or --all.`);
  return items.slice(0, most);
}

/** The number of entries that `--count` asks for. */
export function showCount(out: Output, total: Total): void {
  if (out.isJson) out.json(total);
  else out.line(`${total.count}${total.more ? " or more" : ""}`);
}

/** After so many pages a search reports that it goes on; then each time that the number has doubled. */
const notedFrom = 16;

const isNoted = (pages: number) => pages >= notedFrom && Number.isInteger(Math.log2(pages / notedFrom));

/** A page of a search checks a bounded number of entries: it may have none, and still not be the last. */
function searchingText(pages: number, found: number): string {
  return `Still searching: ${pages} pages read, ${found} found. Ctrl-C stops; a shorter time (--from, --to) is searched faster.`;
}

async function moreText(
  most: number,
  { total, isSure }: { total: (() => Promise<Total>) | undefined; isSure: boolean },
): Promise<string> {
  const { count, more } = (await total?.()) ?? { count: 0, more: true };
  // Counting may end before it has met the listed entries.
  if (count <= most && more)
    return `These are the first ${most}, and there ${isSure ? "are" : "may be"} more`;
  return `These are the first ${most} of ${more ? "more than " : ""}${grouped.format(count)}`;
}

/** One more entry than will be shown, so that the caller learns whether there are more. */
export function pageSize({ given }: Call<keyof typeof listOptions>): number {
  return given.flag("all") ? 100 : Math.min(100, (given.number("limit", { min: 1 }) ?? byDefault) + 1);
}

/**
 * Explains an empty list of keys that the token does not reach. The API answers as if there were no
 * such keys, so that it tells nothing about them.
 */
export async function noteReach(
  { client, out, signal }: Pick<Call, "client" | "out" | "signal">,
  asked: string | undefined,
): Promise<void> {
  if (asked === undefined || out.isJson) return;
  const { prefix } = await client.tokens.own({ signal });
  if (prefix === null || prefix.startsWith(asked) || asked.startsWith(prefix)) return;
  out.note(printable(`This token reaches keys that begin with ${prefix} only.`));
}
