import { readFileSync } from "node:fs";
import { z } from "zod";
import { type ApiDocument, apiDocument } from "./document-breaks.ts";

/** The contract of a release's API. */
export interface ReleasedApi {
  readonly version: string;
  readonly document: ApiDocument;
}

export const releasedApiFile = new URL("../../fixtures/released-api.json", import.meta.url);

const file = z.object({ version: z.string(), document: apiDocument });

export function readReleasedApi(text: string = readFileSync(releasedApiFile, "utf8")): ReleasedApi {
  return file.parse(JSON.parse(text));
}

/** Members for readers, which may change at any time. */
const forReaders: ReadonlySet<string> = new Set(["description", "example", "examples"]);

/** The parts of a whole OpenAPI document that clients rely on. */
export function contractOf(document: unknown): ApiDocument {
  return apiDocument.parse(withoutWords(document));
}

/** A property may have the name of such a member; its value is an object then. */
function withoutWords(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutWords(each));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => isNames || !forReaders.has(name));
  return Object.fromEntries(
    kept.map(([name, each]) => [name, withoutWords(each, name === "properties" && !isNames)]),
  );
}

/** The text of the file, with a line for each path and each shared part, so that a difference can be read. */
export function releasedApiText({ version, document }: ReleasedApi): string {
  const { paths, components } = document;
  return `{
"version": ${JSON.stringify(version)},
"document": {
"paths": ${lines(paths)},
"components": {
"schemas": ${lines(components.schemas)},
"responses": ${lines(components.responses)}
}
}
}
`;
}

const lines = (parts: object) =>
  `{\n${Object.entries(parts)
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(",\n")}\n}`;
