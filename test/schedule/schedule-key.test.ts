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
    "a\u3164",
    "\u115fa",
    "a\u1160b",
    "\uffa0",
    "a\u034fb",
    "a\ufe00b",
    "❤\ufe0f",
    "a\u061cb",
    "a\u2066b",
    "a\u{e0100}b",
  ])("a schedule key may not be %j", (key) => {
    expect(keyFault(key)).toEqual(expect.any(String));
  });

  test("The fault of a hidden character names its code point, since it cannot be seen", () => {
    expect(keyFault("a\u3164b")).toBe("may hold printable characters only, not U+3164");
    expect(keyFault("a\u{e0100}b")).toBe("may hold printable characters only, not U+E0100");
  });

  test.each([
    ["u\u0308ber", "\u00fcber"],
    ["\u1112\u1161\u11ab", "\ud55c"],
    ["\u212b", "\u00c5"],
  ])("The key %j is refused, and its composed form %j is taken", (key, composed) => {
    expect(keyFault(key)).toMatch(/^must be in the composed form of Unicode \(NFC\)/);
    expect(key.normalize("NFC")).toBe(composed);
    expect(keyFault(composed)).toBeNull();
  });
});
