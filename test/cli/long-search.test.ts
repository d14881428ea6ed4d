import { expect, test } from "vitest";
import { parseArguments } from "../../lib/cli/arguments.ts";
import type { Call } from "../../lib/cli/command.ts";
import { commandTable } from "../../lib/cli/commands/command-table.ts";
import type { listOptions } from "../../lib/cli/common-options.ts";
import { someOf } from "../../lib/cli/listed.ts";
import { Pages } from "../../lib/client/main.ts";

type ListCall = Call<keyof typeof listOptions>;

/** A list of so many pages, of which the named ones have an item. */
function pagesOf(count: number, full: readonly number[]): Pages<number> {
  return new Pages<number>(async (cursor = "0") => {
    const page = Number(cursor);
    const items = full.includes(page) ? [page] : [];
    return page === count - 1 ? { items } : { items, cursor: String(page + 1) };
  });
}

async function listed(
  args: readonly string[],
  list: Pages<number>,
): Promise<{ items: number[]; notes: string[] }> {
  const notes: string[] = [];
  const command = commandTable.find(({ name }) => name === "jobs");
  if (command === undefined) throw new Error("There is no command `jobs`.");
  const { given } = parseArguments(command, args);
  const call = { given, out: { note: (text: string) => notes.push(text) } };
  const items = await someOf(call as unknown as ListCall, list);
  return { items, notes };
}

test("A search through many empty pages reports that it goes on, each time that the pages have doubled", async () => {
  const { items, notes } = await listed([], pagesOf(40, [39]));
  expect(items).toEqual([39]);
  expect(notes).toEqual([
    expect.stringContaining("Still searching: 16 pages read, 0 found."),
    expect.stringContaining("Still searching: 32 pages read, 0 found."),
  ]);
});

test("A search that has found as many as were requested does not look for one more", async () => {
  const { items, notes } = await listed(["-n", "2"], pagesOf(1_000, [1, 3]));
  expect(items).toEqual([1, 3]);
  expect(notes).toEqual(["These are the first 2, and there may be more: use --limit or --all."]);
});
