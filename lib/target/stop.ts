/** The reason of a stop, and of the abort of its signal. */
export class AttemptStopped extends Error {
  override readonly name = "AttemptStopped";
  readonly why: "timeout" | "cancelled" | "lease-lost" | "out-of-time";

  constructor(why: AttemptStopped["why"], message: string) {
    super(message);
    this.why = why;
  }

  /** A copy for the stopped code, which may change it. */
  copy(): AttemptStopped {
    return new AttemptStopped(this.why, this.message);
  }
}

type Told = (reason: AttemptStopped) => void;

/**
 * Whether an attempt was stopped, and why. Nearly every attempt ends without a stop, so the signal
 * is made on first use, before the stop or after.
 */
export class Stop {
  #reason: AttemptStopped | undefined;
  #controller: AbortController | undefined;
  #told: Told | undefined;
  /**
   * Nearly every stop has one listener: to make and collect a set for each stop takes as long as a
   * short attempt.
   */
  #alsoTold: Set<Told> | undefined;

  /** Undefined until the stop has come. */
  get reason(): AttemptStopped | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.copy());
    }
    return this.#controller.signal;
  }

  /**
   * A stop comes once; the first reason counts. The signal aborts last, so that its listeners find
   * everything else stopped.
   */
  come(reason: AttemptStopped): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#told?.(reason);
    for (const told of this.#alsoTold ?? []) told(reason);
    this.#told = undefined;
    this.#alsoTold = undefined;
    this.#controller?.abort(reason.copy());
  }

  /** Registers a listener. After the stop it is not called: `reason` is set then. */
  tell(told: Told): void {
    if (this.#reason !== undefined) return;
    if (this.#told === undefined) {
      this.#told = told;
      return;
    }
    this.#alsoTold ??= new Set();
    this.#alsoTold.add(told);
  }

  tellNoMore(told: Told): void {
    if (this.#told === told) this.#told = undefined;
    else this.#alsoTold?.delete(told);
  }
}
