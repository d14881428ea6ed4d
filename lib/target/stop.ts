/** Why an attempt was told to stop, and why its signal aborts. */
export class AttemptStopped extends Error {
  override readonly name = "AttemptStopped";
  readonly why: "timeout" | "cancelled" | "lease-lost" | "out-of-time";

  constructor(why: AttemptStopped["why"], message: string) {
    super(message);
    this.why = why;
  }
}

type Told = (reason: AttemptStopped) => void;

/**
 * Whether somebody was told to stop, and why. Nearly everything ends before: its signal is made when somebody asks for it, be that
 * before the stop or after.
 */
export class Stop {
  #reason: AttemptStopped | undefined;
  #controller: AbortController | undefined;
  readonly #told = new Set<Told>();

  /** Undefined until it has come. */
  get reason(): AttemptStopped | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** It comes once; the first reason counts. The signal aborts last: who listens there finds everything else stopped. */
  come(reason: AttemptStopped): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    for (const told of this.#told) told(reason);
    this.#told.clear();
    this.#controller?.abort(reason);
  }

  /** Who asks once it has come is told nothing: `reason` says it. */
  tell(told: Told): void {
    if (this.#reason === undefined) this.#told.add(told);
  }

  tellNoMore(told: Told): void {
    this.#told.delete(told);
  }
}
