const unitMs = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

/** A hundred years: beyond it a sum of parts could leave the range in which whole milliseconds are exact. */
const longestMs = 100 * 366 * unitMs.d;

/** Largest unit first and each at most once, so that one length has few spellings and a slip such as `5m5m` is noticed. */
const pattern =
  /^(?:(\d{1,9})w)?(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,12})s)?(?:(\d{1,15})ms)?$/;

/** The length of `30s`, `1h30m`, `250ms` or `2d` in milliseconds; null for anything else. */
export function durationMs(text: string): number | null {
  const match = text === "" ? null : pattern.exec(text);
  if (match === null) return null;
  const [, w, d, h, m, s, ms] = match;
  const total =
    Number(w ?? 0) * unitMs.w +
    Number(d ?? 0) * unitMs.d +
    Number(h ?? 0) * unitMs.h +
    Number(m ?? 0) * unitMs.m +
    Number(s ?? 0) * unitMs.s +
    Number(ms ?? 0);
  return total <= longestMs ? total : null;
}
