import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { namedInChangelog } from "../../infra/released/named-in-changelog.ts";
import { kit } from "../../kit/kit.ts";
import { eventBreaks, readReleasedEvents, releasedEventsText } from "./event-breaks.ts";
import { sampleEvents, samplesBegin } from "./sample-events.ts";

const changelog = readFileSync(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");
const release = readReleasedEvents();

test("A receiver of the last release's messages finds each of their members in the present ones, except for what the changelog names", async () => {
  await using carillon = await kit({ now: samplesBegin });
  const samples = await sampleEvents(carillon);
  const named = namedInChangelog(changelog, "Breaks");
  const left = eventBreaks(release.samples, samples).filter(({ id }) => !named.includes(id));
  expect(
    left.map(({ why }) => why),
    'name each in CHANGELOG.md under "Unreleased", as "- Breaks: `message of a job` (reason, what to do)"',
  ).toEqual([]);
  expect(
    Object.keys(samples).filter((name) => !(name in release.samples)),
    "these kinds of messages are new: npm run released",
  ).toEqual([]);
});

test("The released messages are those of the version in package.json; if not, run npm run released", () => {
  expect(release.version).toBe(packageJson.version);
});

test("The released messages say the same after they are read and written", () => {
  expect(readReleasedEvents(releasedEventsText(release))).toEqual(release);
});

test.each<[string, unknown, unknown, string[]]>([
  ["a member that is gone", { a: 1, b: 2 }, { a: 1 }, ["sample/b is no longer there"]],
  ["another type", { a: 1 }, { a: "1" }, ["sample/a is string in place of number"]],
  ["null in place of a text", { a: "x" }, { a: null }, ["sample/a is null in place of string"]],
  ["another value", { id: "1-c0" }, { id: "1c0" }, ['sample/id is "1c0" in place of "1-c0"']],
  ["a list of another length", [{ a: 1 }], [], ["sample is a list of 0 in place of a list of 1"]],
  ["a member of a list that is gone", [{ a: 1 }], [{}], ["sample/0/a is no longer there"]],
  ["no message at all", { a: 1 }, undefined, ["sample is no longer there"]],
])("A message breaks with %s", (_what, before, after, why) => {
  expect(eventBreaks({ sample: before }, { sample: after }).map((each) => each.why)).toEqual(why);
});

test.each<[string, unknown, unknown]>([
  ["a new member", { a: 1 }, { a: 1, b: 2 }],
  ["another moment", { generatedat: "2026" }, { generatedat: "2027" }],
  [
    "another signature of a longer body",
    { headers: { "webhook-signature": "v1,a" } },
    { headers: { "webhook-signature": "v1,b" } },
  ],
])("A message does not break with %s", (_what, before, after) => {
  expect(eventBreaks({ sample: before }, { sample: after })).toEqual([]);
});
