import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import { arbitraryCron, arbitraryInstant } from "./arbitrary-cron.ts";

const now = Date.parse("2026-11-21T08:00:00Z");
const context = { timezone: "UTC", now, key: "a" };

describe("a list of whens", () => {
  test("a list of whens is the union of its entries: sorted in the normal form, and as written in the description", () => {
    const parsed = parseWhen(["every 1h", "0 17 * * fri", "at 2026-12-24T12:00"], context);
    expect(parsed).toMatchObject({
      ok: true,
      relative: false,
      cadence: { kind: "union", of: [{ kind: "cron" }, { kind: "once" }, { kind: "interval" }] },
      normal: "0 17 * * 5 | at 2026-12-24T12:00:00Z | every 1h",
      description: "every hour; and at 17:00 on Friday, UTC; and once, at 2026-12-24T12:00:00Z",
    });
    const reordered = parseWhen(["at 2026-12-24T12:00Z", "every 60m", "0 17 * * 5"], context);
    expect(reordered).toMatchObject({ cadence: parsed.ok ? parsed.cadence : {} });
  });

  test("equal entries of a list are one, and a list of one entry is no union", () => {
    const alone = parseWhen("0 9 * * 1-5", context);
    expect(parseWhen(["0 9 * * 1-5"], context)).toEqual(alone);
    expect(parseWhen(["0 9 * * MON-FRI", "00 09 * * 1,2,3,4,5", "cron(0 9 ? * 2-6 *)"], context)).toEqual(
      alone,
    );
    expect(parseWhen(["0 9 * * *", "0 9 * * *", "0 8 * * *"], context)).toMatchObject({
      normal: "0 8 * * * | 0 9 * * *",
    });
  });

  test("a list with a time counted from now may have no other entry", () => {
    expect(parseWhen(["in 3h"], context)).toMatchObject({ ok: true, relative: true });
    expect(parseWhen(["0 9 * * *", "in 3h"], context)).toMatchObject({
      ok: false,
      kind: "invalid",
      index: 1,
      position: 0,
    });
  });

  test("a list is refused with the index of the wrong entry", () => {
    expect(parseWhen(["0 9 * * *", "0 25 * * *"], context)).toMatchObject({
      ok: false,
      index: 1,
      position: 2,
    });
    expect(parseWhen(["at 2020-01-01T00:00"], context)).toMatchObject({ ok: false, kind: "past", index: 0 });
    expect(parseWhen([], context)).toMatchObject({ ok: false, kind: "invalid", position: 0 });
    expect(parseWhen(new Array<string>(20).fill("0 9 * * *"), context)).toMatchObject({ ok: true });
    expect(parseWhen(new Array<string>(21).fill("0 9 * * *"), context)).toMatchObject({
      ok: false,
      index: 20,
    });
    expect(parseWhen("0 9 * * * | 0 10 * * *", context)).toMatchObject({ ok: false, position: 10 });
  });

  test("a list is refused if its stored form would be too long", () => {
    const odd = Array.from({ length: 30 }, (_, index) => 2 * index + 1).join(",");
    const long = Array.from({ length: 20 }, (_, hour) => `${odd} ${odd} ${hour} 1,3,5,7,9,11,13,15 * *`);
    expect(parseWhen(long.slice(0, 10), context)).toMatchObject({ ok: true });
    expect(parseWhen(long, context)).toMatchObject({ ok: false, kind: "invalid", index: 10, position: 0 });
    expect(parseWhen("cron(0 0 1-31/2 1-12/2 ? 1970-2199/2)", context)).toMatchObject({ ok: true });
  });

  test("a list has the warnings of its entries, each once and with the text of the entry", () => {
    const parsed = parseWhen(["0 9 * * *", "every 5s", "every 5 seconds"], context);
    expect(parsed).toMatchObject({ warnings: ['"every 5s": It runs more often than once a minute.'] });
  });

  test("a list occurs whenever one of its entries occurs", () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryCron(), { minLength: 1, maxLength: 20 }),
        arbitraryInstant(),
        (whens, at) => {
          const each = whens.map((when) => parseWhen(when, context));
          const united = parseWhen(whens, context);
          if (!united.ok) throw new Error(united.message);
          const nexts = each.map((parsed) => (parsed.ok ? nextAfter(parsed.cadence, at) : null));
          expect(nextAfter(united.cadence, at)).toBe(
            Math.min(...nexts.map((next) => next ?? Number.POSITIVE_INFINITY)),
          );
          const again = parseWhen(united.normal.split(" | "), context);
          expect(again).toMatchObject({ cadence: united.cadence, normal: united.normal });
        },
      ),
      { numRuns: 300 },
    );
  });
});
