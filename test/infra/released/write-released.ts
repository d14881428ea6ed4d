import { readFileSync, writeFileSync } from "node:fs";
import packageJson from "../../../package.json" with { type: "json" };
import { namedReplacements } from "./named-replacements.ts";
import { plainParameters } from "./plain-parameters.ts";
import { readRelease, releasedFile, releaseText } from "./released-file.ts";
import { presentRelease, replacements } from "./replacements.ts";

// `npm run released`: a step of a release, after its version is in package.json. Writes what an upgrade from
// this version must not replace to test/fixtures/released-templates.json.

const { version } = packageJson;
const before = readRelease();
const named = namedReplacements(readFileSync(new URL("../../../CHANGELOG.md", import.meta.url), "utf8"));
const unnamed = replacements(before, plainParameters).filter(({ id }) => !named.includes(id));
if (before.version === version) {
  process.stderr.write(`${version} is written already. Raise the version in package.json first.\n`);
  process.exitCode = 1;
} else if (unnamed.length > 0) {
  process.stderr.write(`CHANGELOG.md does not name these:\n${unnamed.map(({ why }) => why).join("\n")}\n`);
  process.exitCode = 1;
} else writeFileSync(releasedFile, releaseText(presentRelease(version, plainParameters)));
