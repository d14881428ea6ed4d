import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCursor, writeCursor } from "../../lib/api/request/cursor.ts";
import { Refusal } from "../../lib/refusal.ts";

const anywhere = () => true;

describe("a cursor", () => {
  test("A cursor returns the place that was written into it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (after) => {
        expect(readCursor(writeCursor("schedules", after), "schedules", anywhere)).toBe(after);
      }),
    );
  });

  test("A cursor of one list is refused by another", () => {
    expect(() => readCursor(writeCursor("schedules", "a"), "jobs", anywhere)).toThrow(Refusal);
  });

  test("A cursor with an impossible place is refused", () => {
    expect(() => readCursor(writeCursor("schedules", "a/b"), "schedules", () => false)).toThrow(Refusal);
  });

  test.each([
    "",
    "x",
    "!!!",
    "null",
    "W10",
    "eyJhIjoxfQ",
    `${writeCursor("schedules", "a")}=`,
    `${writeCursor("schedules", "a")} `,
  ])("A cursor that Carillon did not give out is refused: %j", (cursor) => {
    expect(() => readCursor(cursor, "schedules", anywhere)).toThrow(Refusal);
  });

  test("A cursor of random text is refused with a Refusal, never another error", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (cursor) => {
        expect(() => readCursor(cursor, "schedules", anywhere)).toThrow(Refusal);
      }),
    );
  });
});
