/**
 * How many jobs may be under way at once, of one parcel or of several that share the places of a
 * worker.
 */
export class Places {
  readonly count: number;
  #free: number;
  #isClosed = false;
  readonly #waiting: ((isTaken: boolean) => void)[] = [];

  constructor(count: number) {
    this.count = count;
    this.#free = count;
  }

  /**
   * Whether a place was taken: at once, or when one is given back, in the order of the requests.
   */
  take(): boolean | Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return !this.#isClosed && new Promise((resolve) => this.#waiting.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next(true);
  }

  /** Refuses waiting and later requests that find no free place. */
  close(): void {
    this.#isClosed = true;
    for (const refuse of this.#waiting.splice(0)) refuse(false);
  }
}
