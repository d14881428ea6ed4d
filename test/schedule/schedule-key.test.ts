import { describe, expect, test } from "vitest";
import { keyFault } from "../../lib/schedule/shape/schedule-key.ts";

describe("a schedule key", () => {
  test.each([
    "a",
    "order:1234:unshipped",
    "a b",
    "überfällig",
    "日次",
    "🔔",
    "...",
    "a.b",
    "x".repeat(255),
    "🔔".repeat(255),
    "+&=;,'\"<>",
  ])("a schedule key may be %j", (key) => {
    expect(keyFault(key)).toBeNull();
  });

  test.each([
    "",
    "x".repeat(256),
    ".",
    "..",
    "a/b",
    "a?b",
    "a#b",
    "a%b",
    "a\\b",
    " a",
    "a ",
    "\u00a0a",
    "a\n",
    "a\tb",
    "a\u0000b",
    "a\u007fb",
    "a\u202eb",
    "a\u200bb",
    "a\u2028b",
    "\ud800",
    "a\udc00b",
    "a\ufffeb",
    "\ufeffa",
  ])("a schedule key may not be %j", (key) => {
    expect(keyFault(key)).toEqual(expect.any(String));
  });
});
