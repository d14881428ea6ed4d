import { describe, expect, test } from "vitest";
import { movedRuns } from "../../../lib/page/data/moved-runs.ts";

const hour = 3_600_000;
const begin = Date.parse("2027-03-27T09:00:00Z");
const most = 20;

/** The instants of a cadence. */
const every = (step: number, first = 0, count = most) =>
  Array.from({ length: count }, (_, n) => new Date(begin + first + n * step).toISOString());

describe("the runs that an edit moves", () => {
  test.each([
    {
      name: "all by an hour",
      after: every(24 * hour, hour),
      text: "20 of the next 20 runs move, each 1 h later.",
    },
    {
      name: "all to an earlier time",
      after: every(24 * hour, -1.5 * hour),
      text: "20 of the next 20 runs move, each 1 h 30 min earlier.",
    },
    {
      name: "the last five, as where the clocks change",
      after: [...every(24 * hour).slice(0, 15), ...every(24 * hour, hour).slice(15)],
      text: "5 of the next 20 runs move, each 1 h later.",
    },
    {
      name: "all, and one of them less, as where its hour is missing",
      after: every(24 * hour, hour).map((at, n) => (n === 1 ? every(24 * hour, hour / 2)[1] : at) ?? at),
      text: "20 of the next 20 runs move, each 30 min to 1 h later.",
    },
    { name: "none", after: every(24 * hour), text: "No run moves." },
    {
      name: "a third of them go",
      after: every(24 * hour).filter((_, n) => n % 7 < 5),
      text: "5 of the next 20 runs go, and none is new.",
    },
    { name: "no run is left", after: [], text: "20 of the next 20 runs go, and none is new." },
  ])(
    "The sentence of an edit counts the runs that move, and says by how much if by the same: $name",
    (each) => {
      expect(movedRuns(every(24 * hour), each.after, most).text).toBe(each.text);
    },
  );

  test("A new time that still comes today is a new run, and the others move by the hours between the times", () => {
    const { changes, text } = movedRuns(every(24 * hour), every(24 * hour, -19 * hour), most);
    expect(text).toBe("19 of the next 19 runs move, each 5 h later. The first one is new.");
    expect(changes.slice(0, 2)).toEqual([
      { before: null, after: every(24 * hour, -19 * hour)[0] },
      { before: every(24 * hour)[0], after: every(24 * hour, -19 * hour)[1] },
    ]);
  });

  test("A run of today whose new time has passed goes, and the others move by the hours between the times", () => {
    const { changes, text } = movedRuns(every(24 * hour), every(24 * hour, 19 * hour), most);
    expect(text).toBe("19 of the next 19 runs move, each 5 h earlier. The first one goes.");
    expect(changes.slice(0, 2)).toEqual([
      { before: every(24 * hour)[0], after: null },
      { before: every(24 * hour)[1], after: every(24 * hour, 19 * hour)[0] },
    ]);
  });

  test("Runs beyond the end of the other list are not said to go", () => {
    const { changes, text } = movedRuns(every(2 * hour), every(hour), most);
    expect(text).toBe("No run goes, and 10 are new.");
    expect(changes.map(({ after }) => after)).toEqual(every(hour));
    expect(changes.filter(({ before }) => before === null)).toHaveLength(10);
  });

  test("Runs that come earlier, beside those that stay, are new and not a move of all", () => {
    const { changes, text } = movedRuns(every(24 * hour), every(24 * hour, -4 * 24 * hour), most);
    expect(text).toBe("No run goes, and 4 are new.");
    expect(changes.every(({ after }) => after !== null)).toBe(true);
  });

  test("Each run that moves is beside the one that it becomes, also where others stay", () => {
    const before = every(24 * hour, 0, 3);
    const after = before.with(2, every(24 * hour, hour, 3)[2] ?? "");
    expect(movedRuns(before, after, most)).toMatchObject({
      changes: before.map((at, place) => ({ before: at, after: after[place] })),
      isAnyMoved: true,
    });
  });

  test("Runs that go and runs that come are in one list, in the order of time", () => {
    const before = every(24 * hour, 0, 2);
    const after = every(24 * hour, 5 * hour, 1);
    expect(movedRuns(before, after, most).changes).toEqual([
      { before: before[0], after: null },
      { before: null, after: after[0] },
      { before: before[1], after: null },
    ]);
  });

  test("A single run that moves is named so", () => {
    const { text } = movedRuns(every(hour, 0, 1), every(hour, 2 * hour, 1), most);
    expect(text).toBe("The only coming run moves, 2 h later.");
  });
});
