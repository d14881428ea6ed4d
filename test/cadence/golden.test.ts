import { afterAll, describe, expect, test } from "vitest";
import { nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import { canonicalTimezone } from "../../lib/cadence/zone/timezone.ts";
import { cases, rejects, zones } from "./golden.ts";

const now = Date.UTC(2025, 0, 1);

const hostTz = process.env["TZ"];

afterAll(() => {
  if (hostTz === undefined) delete process.env["TZ"];
  else process.env["TZ"] = hostTz;
});

describe.each(["UTC", "America/New_York", "Australia/Lord_Howe"])(
  "the golden cases on a host in %s",
  (host) => {
    test.each(cases)("$id: $expr in $tz, $note", ({ expr, tz, from, expected }) => {
      process.env["TZ"] = host;
      expect(new Date(2025, 6, 1).getTimezoneOffset() === 0).toBe(host === "UTC");
      const parsed = parseWhen(expr, { timezone: tz, now, key: "a" });
      if (!parsed.ok) throw new Error(parsed.message);
      let at = from;
      const forward = expected.map(() => {
        at = nextAfter(parsed.cadence, at) ?? 0;
        return at;
      });
      expect(forward).toEqual(expected);
      at += 1;
      const back = expected.map(() => {
        at = previousBefore(parsed.cadence, at) ?? 0;
        return at;
      });
      expect(back.reverse()).toEqual(expected);
    });
  },
);

describe("a golden refusal", () => {
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
