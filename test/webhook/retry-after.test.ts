import { expect, test } from "vitest";
import { retryAfterMs } from "../../lib/webhook/retry-after.ts";

const now = new Date("2026-11-06T08:49:37Z");
const day = 86_400_000;

test.each([
  ["0", 0],
  ["120", 120_000],
  [" 5 ", 5_000],
  ["86401", day],
  ["9".repeat(400), day],
  ["Fri, 06 Nov 2026 08:50:37 GMT", 60_000],
  ["Friday, 06-Nov-26 08:50:37 GMT", 60_000],
  ["Fri Nov  6 08:50:37 2026", 60_000],
  ["Sun, 06 Nov 1994 08:49:37 GMT", 0],
  ["Fri, 31 Dec 9999 23:59:59 GMT", day],
])("Retry-After: %s asks to wait %d ms", (value, ms) => {
  expect(retryAfterMs(value, now)).toBe(ms);
});

test.each([
  undefined,
  "",
  "-5",
  "1.5",
  "1e9",
  "0x10",
  "soon",
  "2026-11-06T08:50:37Z",
  "Fri, 99 Nov 2026 08:50:37 GMT",
])("Retry-After: %s is ignored", (value) => {
  expect(retryAfterMs(value, now)).toBeNull();
});
