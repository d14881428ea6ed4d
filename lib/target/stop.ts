/** Why an attempt was told to stop, and why its signal aborts. */
export class AttemptStopped extends Error {
  override readonly name = "AttemptStopped";
  readonly why: "timeout" | "cancelled" | "lease-lost" | "out-of-time";

  constructor(why: AttemptStopped["why"], message: string) {
    super(message);
    this.why = why;
  }

  /** For the code that is stopped: what it makes of its reason is no other's. */
  copy(): AttemptStopped {
    return new AttemptStopped(this.why, this.message);
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
  #told: Told | undefined;
  /** Nearly every stop has one listener: to make and collect a set for each stop takes as long as a short attempt. */
  #alsoTold: Set<Told> | undefined;

  /** Undefined until it has come. */
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

  /** It comes once; the first reason counts. The signal aborts last: who listens there finds everything else stopped. */
  come(reason: AttemptStopped): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#told?.(reason);
    for (const told of this.#alsoTold ?? []) told(reason);
    this.#told = undefined;
    this.#alsoTold = undefined;
    this.#controller?.abort(reason.copy());
  }

  /** Who asks once it has come is told nothing: `reason` says it. */
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
