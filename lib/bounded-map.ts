/**
 * A map for remembered results, with at most this many keys. One key more empties the map: keeping
 * an order of use would cost time at every lookup.
 */
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
