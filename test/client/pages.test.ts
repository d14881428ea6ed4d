import { expect, test } from "vitest";
import { type Page, Pages } from "../../lib/client/main.ts";

/** Pages of a list, of which some are short and one is empty. */
const stored: Record<string, Page<number>> = {
  "": { items: [1, 2], cursor: "a" },
  a: { items: [], cursor: "b" },
  b: { items: [3], cursor: "c" },
  c: { items: [4, 5] },
};

function setup(begin?: string) {
  const read: string[] = [];
  const pages = new Pages(async (cursor = "") => {
    read.push(cursor);
    return stored[cursor] ?? { items: [] };
  }, begin);
  return { pages, read };
}

test("Iterating a list reads it to its last page, past empty pages", async () => {
  const { pages, read } = setup();
  expect(await Array.fromAsync(pages)).toEqual([1, 2, 3, 4, 5]);
  expect(read).toEqual(["", "a", "b", "c"]);
});

test("A page is loaded only when it is needed", async () => {
  const { pages, read } = setup();
  expect(await pages.take(2)).toEqual([1, 2]);
  expect(await pages.take(0)).toEqual([]);
  expect(read).toEqual([""]);
});

test("A list can be read page by page, and from a cursor", async () => {
  const { pages } = setup("b");
  expect(await pages.page()).toEqual({ items: [3], cursor: "c" });
  expect(await pages.page("c")).toEqual({ items: [4, 5] });
  expect(await Array.fromAsync(pages)).toEqual([3, 4, 5]);
});

test("A list whose next page has the cursor that was just sent ends with an error", async () => {
  const read: (string | undefined)[] = [];
  const pages = new Pages(async (cursor) => {
    read.push(cursor);
    return { items: [1], cursor: "a" };
  });
  await expect(Array.fromAsync(pages)).rejects.toThrow(
    "The list does not end: the API answered with the cursor that was sent.",
  );
  expect(read).toEqual([undefined, "a"]);
});
