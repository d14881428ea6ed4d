/** How many jobs may be under way at once, of one parcel or of several that share what a worker has. */
export class Places {
  readonly count: number;
  #free: number;
  #isClosed = false;
  readonly #waiting: ((isTaken: boolean) => void)[] = [];

  constructor(count: number) {
    this.count = count;
    this.#free = count;
  }

  /** Whether there is one: at once, or when somebody has given one back, in the order in which they asked. */
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

  /** Nobody waits any more: those who do get none. */
  close(): void {
    this.#isClosed = true;
    for (const refuse of this.#waiting.splice(0)) refuse(false);
  }
}
