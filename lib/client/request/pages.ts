import { CarillonProblem } from "./problem.ts";
import type { CallOptions } from "./transport.ts";

/**
 * One page of a list, and the cursor of the next; the last page has no cursor. A page may be short
 * or empty and still have a cursor.
 */
export interface Page<Item> {
  items: Item[];
  cursor?: string;
}

/** The size of pages, and the cursor to begin at. */
export interface ListOptions extends CallOptions {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/**
 * A list that loads its pages while it is iterated: `for await (const schedule of
 * carillon.schedules.list())`. `Head` is what each page has besides its items.
 */
export class Pages<Item, Head = unknown> implements AsyncIterable<Item> {
  readonly #read: (cursor: string | undefined) => Promise<Page<Item> & Head>;
  readonly #begin: string | undefined;

  constructor(read: (cursor: string | undefined) => Promise<Page<Item> & Head>, begin?: string) {
    this.#read = read;
    this.#begin = begin;
  }

  /** One page: the first, or the one at a cursor. */
  page(cursor: string | undefined = this.#begin): Promise<Page<Item> & Head> {
    return this.#read(cursor);
  }

  async *pages(): AsyncGenerator<Page<Item> & Head, void, undefined> {
    let cursor = this.#begin;
    do {
      const page = await this.#read(cursor);
      if (page.cursor !== undefined && page.cursor === cursor) throw new CarillonProblem(endless);
      yield page;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { items } of this.pages()) yield* items;
  }

  /** The first entries of the list, up to `most`. */
  async take(most: number): Promise<Item[]> {
    const taken: Item[] = [];
    if (most <= 0) return taken;
    for await (const item of this) {
      taken.push(item);
      if (taken.length >= most) break;
    }
    return taken;
  }
}

const endless = {
  type: "about:blank",
  title: "The list does not end",
  status: 0,
  detail: "The list does not end: the API answered with the cursor that was sent.",
};
