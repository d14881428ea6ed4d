/** What parcels side by side may have of large payloads in memory: a parcel of 250 may have 60 MB, and has several times that while it is delivered. */
export const payloadRoomBytes: number = 32 * 1_048_576;

/** Lets those in that fit together, in their order; what is larger than all the room goes in alone. */
export class PayloadRoom {
  #used = 0;
  readonly #waiting: { bytes: number; enter: () => void }[] = [];
  readonly #bytes: number;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  async within<Result>(bytes: number, act: () => Promise<Result>): Promise<Result> {
    if (bytes === 0) return act();
    await new Promise<void>((enter) => {
      this.#waiting.push({ bytes, enter });
      this.#letIn();
    });
    try {
      return await act();
    } finally {
      this.#used -= bytes;
      this.#letIn();
    }
  }

  #letIn(): void {
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || (this.#used > 0 && this.#used + next.bytes > this.#bytes)) return;
      this.#waiting.shift();
      this.#used += next.bytes;
      next.enter();
    }
  }
}
