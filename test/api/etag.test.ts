import { describe, expect, test } from "vitest";
import { etagOf, readIfMatch, readIfNoneMatch } from "../../lib/api/request/etag.ts";
import { Refusal } from "../../lib/refusal.ts";

describe("If-Match", () => {
  test("If-Match accepts an ETag that Carillon gave out", () => {
    expect(readIfMatch(etagOf(3))).toEqual([3]);
  });

  test.each<[string | undefined, unknown]>([
    [undefined, undefined],
    ["*", "*"],
    [" * ", "*"],
    ['"1", "2"', [1, 2]],
    ['W/"3"', []],
    ['W/"3", "4"', [4]],
    ['"abc"', []],
    ['""', []],
    ['"03"', []],
    ['"99999999999999999999"', []],
  ])("If-Match %j means %j", (header, versions) => {
    expect(readIfMatch(header)).toEqual(versions);
  });

  test.each(["", "3", '"3', '"3" "4"', '"3",', "*, *", "w/x"])("If-Match %j is refused", (header) => {
    expect(() => readIfMatch(header)).toThrow(Refusal);
  });
});

describe("If-None-Match", () => {
  test("If-None-Match accepts only the star", () => {
    expect(readIfNoneMatch(undefined)).toBe(false);
    expect(readIfNoneMatch("*")).toBe(true);
    expect(() => readIfNoneMatch('"3"')).toThrow(Refusal);
    expect(() => readIfNoneMatch("")).toThrow(Refusal);
  });
});
