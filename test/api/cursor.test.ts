import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCursor, writeCursor } from "../../lib/api/request/cursor.ts";
import { Refusal } from "../../lib/refusal.ts";

const anywhere = () => true;

describe("a cursor", () => {
  test("leads back to where it was written", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (after) => {
        expect(readCursor(writeCursor("schedules", after), "schedules", anywhere)).toBe(after);
      }),
    );
  });

  test("of one list is not taken by another", () => {
    expect(() => readCursor(writeCursor("schedules", "a"), "jobs", anywhere)).toThrow(Refusal);
  });

  test("to a place that cannot be is refused", () => {
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
  ])("that nobody gave out is refused: %j", (cursor) => {
    expect(() => readCursor(cursor, "schedules", anywhere)).toThrow(Refusal);
  });

  test("of random text is refused, never an error of another kind", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (cursor) => {
        expect(() => readCursor(cursor, "schedules", anywhere)).toThrow(Refusal);
      }),
    );
  });
});
