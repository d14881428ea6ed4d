/**
 * For clocks of tests that move on during a sleep: a sleep with a signal only ends when the signal
 * aborts.
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
