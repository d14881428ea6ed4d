import { describe, expect, test } from "vitest";
import { type AgendaItem, type AgendaOutcome, agendaOutcomes } from "../../../lib/client/agenda.ts";
import {
  countsText,
  isOnlyCounted,
  leftOutText,
  movedRunsText,
  outcomeText,
  withListed,
} from "../../../lib/page/views/agenda/counts-text.ts";

const asOf = "2026-03-02T10:00:00.000Z";
const windows = {
  past: { from: "2026-03-01T00:00:00Z", to: "2026-03-02T00:00:00Z" },
  ahead: { from: "2026-03-03T00:00:00Z", to: "2026-03-04T00:00:00Z" },
  both: { from: "2026-03-02T00:00:00Z", to: "2026-03-03T00:00:00Z" },
};

const counts = (occurrences: number, more = false) => ({ asOf, occurrences, schedules: 13, more, items: [] });

describe("the count of an outcome", () => {
  test("Runs that a calendar leaves out tomorrow are not told as past", () => {
    const text = (window: keyof typeof windows, occurrences: number) =>
      outcomeText(counts(occurrences), "skipped", windows[window]);
    expect(text("ahead", 113)).toBe("113 runs of 13 schedules are left out by their calendars");
    expect(text("past", 113)).toBe("113 runs of 13 schedules were skipped or missed");
    expect(text("both", 113)).toBe("113 runs of 13 schedules are skipped or missed");
    expect(text("ahead", 0)).toBe("no run is left out by its calendar");
  });

  test("A count that has not looked at all runs says at least what the list of the same outcome shows", () => {
    const item = (key: string) => ({ key }) as AgendaItem;
    const listed = { items: [item("a"), item("a"), item("b")], hasMore: true };
    const text = (occurrences: number, more: boolean, outcome: AgendaOutcome | undefined) => {
      const found = { ...counts(occurrences, more), schedules: occurrences };
      return outcomeText(withListed(found, outcome, listed), "skipped", windows.past);
    };
    expect(text(0, true, "skipped")).toBe("at least 3 runs of at least 2 schedules were skipped or missed");
    expect(text(0, false, "skipped")).toBe("no run was skipped or missed");
    expect(text(9, true, "skipped")).toBe("at least 9 runs of at least 9 schedules were skipped or missed");
    expect(text(0, true, undefined)).toBe("of the runs that were looked at none was skipped or missed");
  });

  test("The sentence about no run of an outcome has one negation", () => {
    for (const outcome of agendaOutcomes)
      for (const more of [true, false])
        expect(outcomeText(counts(0, more), outcome, windows.ahead).match(/\b(no|not|none)\b/g)).toHaveLength(
          1,
        );
    expect(outcomeText(counts(0, true), "not-planned-yet", windows.both)).toBe(
      "of the runs that were looked at none waits to be planned",
    );
    expect(outcomeText(counts(0), "unrecorded", windows.past)).toBe("no run lacks a record");
    expect(outcomeText(counts(2), "not-planned-yet", windows.both)).toBe(
      "2 runs of 13 schedules are not planned yet",
    );
  });
});

describe("the headline of the agenda", () => {
  const of = { asOf, occurrences: 1_129, leftOut: 125, cadences: 12, items: [], exact: true };

  test("Runs that calendars leave out are not among its count", () => {
    const unlisted = { chosen: undefined, listed: undefined };
    expect(countsText(of, unlisted)).toBe("1,004 occurrences of 12 expressions, before holds");
    expect(leftOutText(of)).toBe("125 are left out by calendars");
    expect(leftOutText({ ...of, leftOut: 1, exact: false })).toBe("about 1 is left out by calendars");
  });

  test("The headline says by how much a spread moves runs, and nothing where none is moved", () => {
    const run = (dueAt: string | null, kind = "cadence") =>
      ({ kind, occurrence: "2026-03-02T10:00:00.000Z", dueAt }) as AgendaItem;
    const due = run("2026-03-02T10:00:00.000Z");
    expect(movedRunsText([due, run(null), run("2026-03-02T10:09:00.000Z", "manual")])).toBeNull();
    expect(movedRunsText([due, run("2026-03-02T10:00:24.000Z"), run("2026-03-02T10:00:12.000Z")])).toBe(
      "A spread or slot moves some of these runs: they are due up to 24 s after the time shown.",
    );
  });

  test("The headline says that nothing is listed only if it counts some runs", () => {
    const listed = { items: [], hasMore: false };
    expect(isOnlyCounted(of, listed)).toBe(true);
    expect(isOnlyCounted({ ...of, occurrences: 125 }, listed)).toBe(false);
  });
});
