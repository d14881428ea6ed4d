/** For clocks of tests whose time moves on while somebody waits: who sleeps only until told to stop is not waited for. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** And nobody's time is up. */
export function neverRings(): () => void {
  return () => {};
}
