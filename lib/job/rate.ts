/** A number of starts in a time. */
export interface Rate {
  count: number;
  perMs: number;
}

const units = { s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** The form of a rate, for messages. */
export const rateForm = 'like "10/s", "100/m" or "1000/h"';

export const ratePattern = /^([1-9]\d{0,8})\/([smh])$/;

/** `10/s`, `100/m`, `1000/h`; null for anything else. */
export function parseRate(text: string): Rate | null {
  const [, count = "", unit = ""] = ratePattern.exec(text) ?? [];
  return unit === "s" || unit === "m" || unit === "h" ? { count: Number(count), perMs: units[unit] } : null;
}

export function rateText({ count, perMs }: Rate): string {
  const unit = Object.entries(units).find(([, ms]) => ms === perMs)?.[0];
  if (unit === undefined) throw new Error(`No unit of a rate takes ${perMs} ms.`);
  return `${count}/${unit}`;
}
