const firstMs = 200;
const longestMs = 10_000;

/** No answer makes a caller wait longer than this between two tries, whatever its `Retry-After` says. */
export const retryAfterMaxMs = 60_000;

/** Anything between nothing and a bound that doubles: those who failed together do not come back together. */
export function backoffMs(retry: number, random: () => number): number {
  return random() * Math.min(longestMs, firstMs * 2 ** retry);
}

/** What a `Retry-After` header asks for: seconds, or a date. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Ends early, and rejects, when the signal says so. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
