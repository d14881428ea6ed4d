/**
 * Resolves when the signal aborts. A clock of a test that moves on during each sleep uses this for
 * sleeps with a signal, which end only by their signal.
 */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** An alarm for clocks on which no time limit runs out. */
export function neverRings(): () => void {
  return () => {};
}
