import { afterAll, beforeAll, expect, test } from "vitest";
import { minute } from "../support/instants.ts";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;

beforeAll(async () => {
  cli = await ownCli();
  await cli.api.tick();
  for (const key of ["a", "b"]) await cli.carillon(["put", key, "--when", "*/30 * * * *", "--queue", "demo"]);
  await cli.api.clock.advance(31 * minute);
  await cli.api.tick();
});

afterAll(() => cli.stop());

const lines = (text: string) => text.trimEnd().split("\n");

test("`agenda` lists a window in the zone, and says on stderr which window it is", async () => {
  const window = "2026-03-02T12:00..2026-03-02T12:31";
  const { code, out, err } = await cli.carillon(["agenda", window, "--timezone", "Europe/Berlin"]);
  expect(code).toBe(0);
  expect(err).toBe("2026-03-02 12:00:00 to 2026-03-02 12:31:00 in Europe/Berlin\n");
  expect(lines(out).map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
    ["OCCURRENCE (Europe/Berlin)", "KEY", "OUTCOME"],
    ["2026-03-02 12:00:00", "a", "planned"],
    ["2026-03-02 12:00:00", "b", "planned"],
    ["2026-03-02 12:30:00", "a", "planned"],
    ["2026-03-02 12:30:00", "b", "planned"],
  ]);
});

test.each([
  ["a zone that is an offset", ["2026-03-03 8..9", "--timezone", "+01:00"], /Europe\/Berlin/],
  ["a window of more than 32 days", ["2026-03-03..2026-05-03"], /32 days/],
  ["a window of more than 32 days, counted", ["2026-03-03..2026-05-03", "--count"], /32 days/],
])("`agenda` prints nothing but the refusal of %s", async (_, words, why) => {
  const { code, out, err } = await cli.carillon(["agenda", ...words]);
  expect({ code: code === 0, out }).toEqual({ code: false, out: "" });
  expect(err).toMatch(why);
  expect(err).not.toMatch(/2026-03-03 \S+ to /);
});

test("`agenda --outcome` lists the occurrences with one outcome, and is refused for other words", async () => {
  const window = ["agenda", "2026-03-02T10:00..2026-03-02T12:01", "--timezone", "UTC"];
  const { out } = await cli.carillon([...window, "--outcome", "planned"]);
  expect(lines(out).map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
    ["OCCURRENCE (UTC)", "KEY", "OUTCOME"],
    ...["11:00", "11:30", "12:00"].flatMap((at) =>
      ["a", "b"].map((key) => [`2026-03-02 ${at}:00`, key, "planned"]),
    ),
  ]);
  expect((await cli.carillon([...window, "--outcome", "dead"])).err).toContain("has the outcome dead");
  const { code, err } = await cli.carillon([...window, "--outcome", "moved"]);
  expect(code).not.toBe(0);
  expect(err).toContain("--outcome");
});

test("`agenda --outcome --count` counts the occurrences with one outcome by schedule", async () => {
  const window = ["agenda", "2026-03-02T10:00..2026-03-02T12:01", "--timezone", "UTC", "--count"];
  const { out } = await cli.carillon([...window, "--outcome", "planned"]);
  expect(lines(out)).toEqual([
    expect.stringMatching(/^OCCURRENCES +KEY +FIRST \(UTC\)$/),
    expect.stringMatching(/^ +3 +a +2026-03-02 11:00:00$/),
    expect.stringMatching(/^ +3 +b +2026-03-02 11:00:00$/),
    "6 occurrences of 2 schedules have the outcome planned.",
  ]);
  const none = await cli.carillon([...window, "--outcome", "dead"]);
  expect(none.out + none.err).toContain("has the outcome dead");
});

test("`agenda --count` counts a window by cadence", async () => {
  const args = ["agenda", "2026-03-03", "8..9", "--count", "--timezone", "UTC"];
  const { out } = await cli.carillon(args);
  expect(lines(out)).toEqual([
    expect.stringMatching(/^OCCURRENCES +SCHEDULES +WHEN +ZONE +SUCH AS +RULE$/),
    expect.stringMatching(/^ +4 +2 +\*\/30 \* \* \* \* +UTC +a +cadence-\d+$/),
    "4 occurrences in all.",
  ]);
});

test("`agenda --rule` lists the occurrences of one cadence, by the rule that `--count` prints", async () => {
  const counted = await cli.carillon(["agenda", "2026-03-03", "8..9", "--count", "--timezone", "UTC"]);
  const [rule = ""] = /cadence-\d+/.exec(counted.out) ?? [];
  const listed = async (of: string) => {
    const { out } = await cli.carillon(["agenda", "2026-03-03", "8..9", "--rule", of, "--json"]);
    return lines(out).filter((line) => line.includes("occurrence")).length;
  };
  expect(await listed(rule)).toBe(4);
  expect(await listed("every-60000")).toBe(0);
  const { code, err } = await cli.carillon(["agenda", "2026-03-03", "8..9", "--rule", "7"]);
  expect(code).not.toBe(0);
  expect(err).toContain("cadence-7");
});

test("`agenda --count` tells cadences apart that differ in their calendar alone", async () => {
  await cli.carillon(["calendar", "put", "off", "--weekly", "sun"]);
  for (const [key, ...more] of [
    ["c:plain"],
    ["c:skip", "--calendar", "off"],
    ["c:next", "--calendar", "off:next"],
  ])
    await cli.carillon(["put", key ?? "", "--when", "0 9 * * *", "--queue", "demo", ...more]);
  for (const filter of [[], ["--prefix", "c:"]]) {
    const { out } = await cli.carillon(["agenda", "2026-03-03 9..9:01", "--count", ...filter]);
    const rows = lines(out).filter((line) => line.includes("0 9 * * *"));
    expect(rows.map((line) => line.trim().split(/ {2,}/).slice(3, -1)).toSorted()).toEqual([
      ["UTC", "c:plain"],
      ["UTC", "off: next", "c:next"],
      ["UTC", "off: skip", "c:skip"],
    ]);
  }
});

test("`agenda --count` says how many occurrences calendars leave out", async () => {
  await cli.carillon(["calendar", "put", "never", "--date", "2026-03-10"]);
  const off = ["--when", "0 9 * * *", "--queue", "demo", "--calendar", "never"];
  await cli.carillon(["put", "out:a", ...off]);
  const window = ["agenda", "2026-03-09..2026-03-12", "--prefix", "out:", "--count", "--timezone", "UTC"];
  const { out } = await cli.carillon(window);
  expect(lines(out)).toEqual([
    expect.stringMatching(/^OCCURRENCES +LEFT OUT +SCHEDULES +WHEN/),
    expect.stringMatching(/^ +3 +1 +1 +0 9 \* \* \* /),
    "3 occurrences in all, calendars leave out 1 of them.",
  ]);
});

test("`agenda` says from where a calendar has moved an occurrence", async () => {
  await cli.carillon(["calendar", "put", "closed", "--weekly", "sun"]);
  const moved = ["--when", "0 9 * * *", "--queue", "demo", "--calendar", "closed:next"];
  await cli.carillon(["put", "moved:a", ...moved]);
  const { out } = await cli.carillon(["agenda", "2026-03-09 9..9:01", "--prefix", "moved:"]);
  expect(lines(out)[1]).toMatch(/ planned .*also takes what the calendar moved from 2026-03-08$/);
});

test("`strip` of one key explains each occurrence, of several keys it shows a line of marks", async () => {
  const one = await cli.carillon(["strip", "a", "--timezone", "UTC"]);
  expect(lines(one.out)[1]).toMatch(/^2026-03-02 10:30:00 +waiting .* has waited for a worker/);
  const berlin = await cli.carillon(["strip", "a", "--timezone", "Europe/Berlin"]);
  expect(berlin.out).not.toMatch(/\dT\d\d:\d\d:\d\dZ/);
  const many = await cli.carillon(["strip", "a", "b", "none", "--timezone", "UTC"]);
  expect(
    lines(many.out)
      .slice(1)
      .map((line) => line.split(/ {2,}/).slice(0, 3)),
  ).toEqual(
    [
      ["a", "·", "waiting"],
      ["b", "·", "waiting"],
      ["none", "", "no such schedule"].filter((cell) => cell !== ""),
    ].map((cells) => expect.arrayContaining(cells)),
  );
});

test("`strip` of a deleted key says when it was deleted, and by which token", async () => {
  await cli.carillon(["rm", "b", "--yes"]);
  const { err } = await cli.carillon(["strip", "b", "--timezone", "UTC"]);
  expect(err).toMatch(/^Deleted at 2026-03-02 10:31:\d\d .* by .+\.\n$/);
});

test("`agenda` names the owner and the reason of the hold of a held occurrence", async () => {
  await cli.carillon(["put", "kept:1", "--when", "0 9 * * *", "--queue", "demo", "--group", "kept"]);
  await cli.carillon(["pause", "--group", "kept", "--reason", "new index"]);
  const { out } = await cli.carillon(["agenda", "2026-03-09 9..9:01", "--prefix", "kept:"]);
  expect(out).toMatch(/ kept:1 +held +- +by adminer on the group kept: new index\n$/);
  const counted = await cli.carillon(["agenda", "2026-03-09 9..9:01", "--outcome", "held", "--count"]);
  expect(counted.out).toMatch(
    / 1 +kept:1 +2026-03-09 \S+ +by adminer on the group kept: new index +released\n/,
  );
  await cli.carillon(["resume", "--group", "kept"]);
});
