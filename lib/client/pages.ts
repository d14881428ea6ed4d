import type { CallOptions } from "./transport.ts";

/** Some of a list, and from where it goes on; without a cursor it was the last. A page may be short, even empty, and still have one. */
export interface Page<Item> {
  items: Item[];
  cursor?: string;
}

/** How a list is read: in pages of this size, beginning at this cursor. */
export interface ListOptions extends CallOptions {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** A list that is read page by page as it is walked through: `for await (const schedule of carillon.schedules.list())`. */
export class Pages<Item> implements AsyncIterable<Item> {
  readonly #read: (cursor: string | undefined) => Promise<Page<Item>>;
  readonly #begin: string | undefined;

  constructor(read: (cursor: string | undefined) => Promise<Page<Item>>, begin?: string) {
    this.#read = read;
    this.#begin = begin;
  }

  /** One page: the first one, or the one at a cursor. */
  page(cursor: string | undefined = this.#begin): Promise<Page<Item>> {
    return this.#read(cursor);
  }

  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let cursor = this.#begin;
    do {
      const page = await this.#read(cursor);
      yield page;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { items } of this.pages()) yield* items;
  }

  /** At most so many, in one list. */
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
