import { readFileSync, writeFileSync } from "node:fs";
import packageJson from "../../../package.json" with { type: "json" };
import { namedReplacements } from "./named-replacements.ts";
import { plainParameters } from "./plain-parameters.ts";
import { readRelease, releasedFile, releaseText } from "./released-file.ts";
import { presentRelease, replacements } from "./replacements.ts";

// `npm run released`: a step of a release, after its version is in package.json. Writes what an upgrade from
// this version must not replace to test/fixtures/released-templates.json. Within a version it only adds.

const { version } = packageJson;
const before = readRelease();
const named = namedReplacements(readFileSync(new URL("../../../CHANGELOG.md", import.meta.url), "utf8"));
const lost = replacements(before, plainParameters);
const isWritten = before.version === version;
const refused = isWritten ? lost : lost.filter(({ id }) => !named.includes(id));
if (refused.length > 0) {
  const why = isWritten
    ? `These are part of ${version}, which is written already: raise the version in package.json first.`
    : "These are replaced, and CHANGELOG.md does not name them:";
  process.stderr.write(`${[why, ...refused.map((each) => each.why)].join("\n")}\n`);
  process.exitCode = 1;
} else writeFileSync(releasedFile, releaseText(presentRelease(version, plainParameters)));
