import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { testCarillon } from "../../../lib/tools/testing/test-carillon.ts";
import packageJson from "../../../package.json" with { type: "json" };
import { document } from "../../api/contract.ts";
import { documentBreaks } from "../../release/api/document-breaks.ts";
import {
  contractOf,
  readReleasedApi,
  releasedApiFile,
  releasedApiText,
} from "../../release/api/released-api.ts";
import {
  eventBreaks,
  readReleasedEvents,
  releasedEventsFile,
  releasedEventsText,
} from "../../release/events/event-breaks.ts";
import { sampleEvents, samplesBegin } from "../../release/events/sample-events.ts";
import { namedInChangelog } from "./named-in-changelog.ts";
import { plainParameters } from "./plain-parameters.ts";
import { readRelease, releasedFile, releaseText } from "./released-file.ts";
import { presentRelease, replacements } from "./replacements.ts";

// `npm run released`: a step of a release, after its version is in package.json. Writes what an upgrade from
// this version must not replace to test/fixtures/released-templates.json, the contract of its API to
// test/fixtures/released-api.json, and a message of each kind that users receive to
// test/fixtures/released-events.json. Within a version it only adds.

const { version } = packageJson;
const changelog = readFileSync(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");

/** The sentences that forbid the release: each is about a change that the changelog does not name. */
function refused(
  before: { version: string },
  lost: readonly { id: string; why: string }[],
  word: "Replaces" | "Breaks",
): string[] {
  const isWritten = before.version === version;
  const named = isWritten ? [] : namedInChangelog(changelog, word);
  const left = lost.filter(({ id }) => !named.includes(id)).map(({ why }) => why);
  if (left.length === 0) return [];
  const why = isWritten
    ? `These are part of ${version}, which is written already: raise the version in package.json first.`
    : `CHANGELOG.md does not name these in a line that begins with "${word}:"`;
  return [why, ...left];
}

const templates = readRelease();
const contract = contractOf(document);
const api = existsSync(releasedApiFile) ? readReleasedApi() : { version, document: contract };
const samples = await presentSamples();
const events = existsSync(releasedEventsFile) ? readReleasedEvents() : { version, samples };
const faults = [
  ...refused(templates, replacements(templates, plainParameters), "Replaces"),
  ...refused(api, documentBreaks(api.document, contract), "Breaks"),
  ...refused(events, eventBreaks(events.samples, samples), "Breaks"),
];
if (faults.length > 0) {
  process.stderr.write(`${faults.join("\n")}\n`);
  process.exitCode = 1;
} else {
  writeFileSync(releasedFile, releaseText(presentRelease(version, plainParameters)));
  writeFileSync(releasedApiFile, releasedApiText({ version, document: contract }));
  writeFileSync(releasedEventsFile, releasedEventsText({ version, samples }));
}

async function presentSamples() {
  await using carillon = await testCarillon({ now: samplesBegin });
  return await sampleEvents(carillon);
}
