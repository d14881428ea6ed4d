/** Remembers what was made for so many keys. One more, and all are forgotten: to keep an order among them would cost every look. */
export class BoundedMap<Key, Made> extends Map<Key, Made> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: Key, made: Made): this {
    if (this.size >= this.#max && !this.has(key)) this.clear();
    return super.set(key, made);
  }
}
