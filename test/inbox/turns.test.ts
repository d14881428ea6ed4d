import { describe, expect, test } from "vitest";
import { listsByTurns, type WaitingRow } from "../../lib/inbox/turns.ts";
import { diceOf, seeded } from "../race/seeded.ts";

const row = (id: number, caller: string, more: Partial<WaitingRow> = {}): WaitingRow => ({
  id: String(id),
  caller,
  bytes: 100,
  tried: false,
  prior: null,
  ...more,
});
const rows = (count: number, caller: string, from = 1) =>
  Array.from({ length: count }, (_, index) => row(from + index, caller));
const idsOf = (some: readonly WaitingRow[], together = 1_000) =>
  listsByTurns(some, together).map(({ ids }) => ids.map(Number));

test("the first list has a hundred commands of each caller, and later lists are full", () => {
  const lists = idsOf([...rows(5_000, "many"), ...rows(250, "some", 5_001), row(6_000, "one")]);
  expect(lists[0]).toEqual([
    ...Array.from({ length: 100 }, (_, n) => n + 1),
    ...Array.from({ length: 100 }, (_, n) => n + 5_001),
    6_000,
  ]);
  expect(lists[1]).toHaveLength(1_000);
  expect(lists[1]).toContain(5_250);
  expect(lists.flat()).toHaveLength(5_251);
});

test("a caller that waits alone has whole lists", () => {
  expect(idsOf(rows(2_500, "alone")).map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
});

test("a turn ends after a megabyte of commands, and has one command at least", () => {
  const large = [1, 2, 3].map((id) => row(id, "large", { bytes: 1024 * 1024 }));
  expect(idsOf([...large, row(4, "small"), row(5, "small")])).toEqual([
    [1, 4, 5],
    [2, 3],
  ]);
});

test("a caller stops at a command that waits for one that is not listed", () => {
  const waiting = [row(2, "a"), row(3, "a", { prior: "1" }), row(4, "a"), row(5, "b")];
  expect(idsOf(waiting).flat()).toEqual([2, 5]);
});

describe.each([1, 2, 3, 4, 5])("with random commands of seed %i", (seed) => {
  const dice = diceOf(seeded(seed));
  const latest = new Map<string, WaitingRow>();
  const keys = new Map<string, string>();
  const all = Array.from({ length: 3_000 }, (_, index) => {
    const caller = dice.pick(["a", "a", "a", "b", "c"]);
    const key = `key-${dice.between(1, 200)}`;
    const before = latest.get(key);
    const prior = before !== undefined && before.caller !== caller ? before.id : null;
    const made = row(index + 1, caller, { prior, tried: dice.chance(0.01) });
    latest.set(key, made);
    keys.set(made.id, key);
    return made;
  });
  const lists = listsByTurns(all, dice.between(50, 1_000));
  const place = new Map(lists.flatMap(({ ids }, index) => ids.map((id) => [id, index] as const)));

  test(`each command is listed once, with others of its kind (seed ${seed})`, () => {
    expect(lists.flatMap(({ ids }) => ids)).toHaveLength(all.length);
    expect(place.size).toBe(all.length);
    for (const { id, tried } of all) expect(lists[place.get(id) ?? -1]?.tried).toBe(tried);
  });

  test.each([
    ["caller", ({ caller }: WaitingRow) => caller],
    ["key", ({ id }: WaitingRow) => keys.get(id)],
  ])(`no command comes into a list before an earlier one of its %s (seed ${seed})`, (_, lineOf) => {
    const last = new Map<string | undefined, number>();
    for (const each of all) {
      const line = lineOf(each);
      const at = place.get(each.id) ?? -1;
      expect(at).toBeGreaterThanOrEqual(last.get(line) ?? 0);
      last.set(line, at);
    }
  });
});
