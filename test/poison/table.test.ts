import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { consumers } from "../../lib/quarantine/quarantine.ts";
import type { Work } from "../../lib/tick/pending-work.ts";
import { type MatrixRow, others, poisons } from "./cell.ts";
import { cells, matrix, rowCases } from "./matrix.ts";
import { scenarios } from "./row-scenarios.ts";

test("Every consumer has a row in the matrix, and every row has each of the poisons", () => {
  expect(Object.keys(matrix).toSorted()).toEqual([...new Set([...consumers, ...others])].toSorted());
  for (const [row, ofRow] of Object.entries(matrix))
    expect(Object.keys(ofRow).toSorted(), row).toEqual([...poisons].toSorted());
});

const shown = cells.flatMap(({ row, poison, cell }) => ("file" in cell ? [{ row, poison, ...cell }] : []));

test.each([...new Set(shown.map(({ file }) => file))])(
  "The tests of %s that the matrix names exist",
  (file) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
    const gone = shown.filter((each) => each.file === file && !text.includes(JSON.stringify(each.title)));
    expect(gone).toEqual([]);
  },
);

test("A cell without a test has a sentence that says why", () => {
  const reasons = cells.flatMap(({ cell }) => ("because" in cell ? [cell.because] : []));
  expect(reasons.filter((reason) => !/^[A-Z].{20,}\.$/.test(reason))).toEqual([]);
});

test("Every scenario of a row is in the matrix", () => {
  const named = new Set<string>(rowCases.map(([row]) => row));
  expect(Object.keys(scenarios).filter((row) => !named.has(row))).toEqual([]);
});

/** The parts of the tick: their consumers, or why no foreign row can stop the part. */
const partsOfTheTick: Readonly<Record<Work, readonly MatrixRow[] | string>> = {
  setting: "It writes one row of Carillon's own.",
  canaries: "It puts a few schedules of Carillon's own, each by an edit like any other.",
  inbox: ["inbox", "forget"],
  plans: ["plan"],
  backlog: ["backlog"],
  parcels: ["claim", "lease", "offer", "lane", "turn"],
  holds: ["ended-hold"],
  wantedHolds: ["wanted-hold"],
  near: ["near"],
  pastDays: ["day-look", "day-drop"],
  ended: ["ended"],
  events: ["outbox"],
  sharedHolds: ["shared-hold"],
  handlers: ["follower"],
  targets: ["target"],
  commands: ["forget"],
  cadences: "It deletes rows to which none refers, by their ids.",
  unusedTargets: ["unused-target"],
  pulseTargets: "It deletes rows to which none refers, by their ids.",
  answers: ["forget"],
  calendars: ["calendar-replan"],
  zones: ["zone-replan"],
  aside: "It forgets entries of the quarantine by their time.",
  teams: "It writes the team of rows by their keys, and reads numbers of them alone.",
  usage: "It adds numbers of rows.",
};

test("Each part of the tick is a consumer of the matrix, or has a reason why not", () => {
  const named = Object.values(partsOfTheTick).flatMap((part) => (typeof part === "string" ? [] : part));
  expect(named.filter((row) => !(row in matrix))).toEqual([]);
});
