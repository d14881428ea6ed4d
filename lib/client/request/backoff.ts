const firstMs = 200;
const longestMs = 10_000;

/** The longest wait before a retry. An answer whose `Retry-After` is longer is not retried. */
export const retryAfterMaxMs = 60_000;

/**
 * A random wait up to a bound that doubles, so that callers that failed together do not retry
 * together.
 */
export function backoffMs(retry: number, random: () => number): number {
  return random() * Math.min(longestMs, firstMs * 2 ** retry);
}

/** The wait that a `Retry-After` header requests, as seconds or as a date. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Rejects as soon as the signal aborts. */
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
