import { describe, expect, test } from "vitest";
import { nextAfter } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/parse-when.ts";
import { canonicalTimezone } from "../../lib/cadence/timezone.ts";
import { cases, rejects, zones } from "./golden.ts";

const now = Date.UTC(2025, 0, 1);

const offered = cases.filter(({ tz, expr }) => tz === "UTC" && !/[L#]/.test(expr));

describe("the golden cases", () => {
  test.each(offered)("$id: $expr in $tz, $note", ({ expr, tz, from, expected }) => {
    const parsed = parseWhen(expr, { timezone: tz, now, key: "a" });
    if (!parsed.ok) throw new Error(parsed.message);
    let at = from;
    const found = expected.map(() => {
      at = nextAfter(parsed.cadence, at) ?? 0;
      return at;
    });
    expect(found).toEqual(expected);
  });

  test.each(rejects.map(({ expr, why }) => ({ expr: expr ?? `0 0 ${"1,".repeat(130)}1 * *`, why })))(
    "$expr is refused: $why",
    ({ expr }) => {
      const parsed = parseWhen(expr, { timezone: "UTC", now, key: "a" });
      expect(parsed).toMatchObject({ ok: false, message: expect.stringMatching(/\.$/) });
    },
  );
});

describe("the golden zones", () => {
  test.each(zones.accept)("%s is a zone", (name) => {
    expect(canonicalTimezone(name)).toBe(name);
  });

  test.each(zones.reject)("%j is no zone", (name) => {
    expect(canonicalTimezone(name)).toBeNull();
  });
});
