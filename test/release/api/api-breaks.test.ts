import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { document } from "../../api/contract.ts";
import { namedInChangelog } from "../../infra/released/named-in-changelog.ts";
import { apiDocument, documentBreaks } from "./document-breaks.ts";
import { contractOf, readReleasedApi, releasedApiText } from "./released-api.ts";
import type { Schema } from "./schema.ts";

const changelog = readFileSync(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");
const release = readReleasedApi();

test("A client of the last release gets along with the API, except for what the changelog names", () => {
  const named = namedInChangelog(changelog, "Breaks");
  const found = documentBreaks(release.document, contractOf(document));
  expect(
    found.filter(({ id }) => !named.includes(id)).map(({ why }) => why),
    'name each in CHANGELOG.md under "Unreleased", as "- Breaks: `PUT /v1/…`, `Name` (reason, what to do)"',
  ).toEqual([]);
  const broken = found.map(({ id }) => id);
  expect(
    named.filter((id) => !broken.includes(id)),
    "CHANGELOG.md says that these break clients, and they do not",
  ).toEqual([]);
});

test("The released contract of the API is that of the version in package.json; if not, run npm run released", () => {
  expect(release.version).toBe(packageJson.version);
});

test("The released contract says the same after it is read and written", () => {
  expect(readReleasedApi(releasedApiText(release))).toEqual(release);
});

test("The contract leaves out the words for readers, and keeps a property that is called like one of them", () => {
  const { paths, components } = contractOf(document);
  expect(components.schemas["ScheduleInput"]).toMatchObject({
    properties: { description: expect.any(Object) },
  });
  expect(JSON.stringify(paths)).not.toMatch(/"(description|example)":"/);
});

interface Parts {
  body?: Schema;
  answer?: Schema;
  operation?: object;
  schemas?: Record<string, Schema>;
}

/** A document with one operation. */
const api = ({ body = {}, answer = {}, operation = {}, schemas = {} }: Parts = {}) => {
  const json = (schema: Schema) => ({ content: { "application/json": { schema } } });
  const put = {
    operationId: "put",
    requestBody: json(body),
    responses: {
      200: { ...json(answer), headers: { ETag: {} } },
      404: { $ref: "#/components/responses/Missing" },
    },
    ...operation,
  };
  const responses = { Missing: { content: { "application/problem+json": { schema: { type: "object" } } } } };
  return apiDocument.parse({ paths: { "/v1/a": { put } }, components: { schemas, responses } });
};
const whys = (before: Parts, after: Parts) =>
  documentBreaks(api(before), api(after)).map(({ why }) => why.replace("PUT /v1/a: ", ""));

const text = { type: "string" };
const number = { type: "integer" };
const object = (properties: Schema, required: readonly string[] = [], more: Schema = {}) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
  ...more,
});
const oneOf = (...anyOf: Schema[]) => ({ anyOf });
const a = object({ a: text }, ["a"]);
const ab = object({ a: text, b: text }, ["a"]);

test.each<[string, Schema, Schema, string[]]>([
  ["a property that is removed", ab, a, ["body.b is no longer taken"]],
  [
    "a new property that is required",
    a,
    object({ a: text, b: text }, ["a", "b"]),
    ["body.b is now required"],
  ],
  [
    "a property that becomes required",
    ab,
    object({ a: text, b: text }, ["a", "b"]),
    ["body.b is now required"],
  ],
  ["another type", a, object({ a: number }, ["a"]), ["body.a no longer takes string"]],
  ["null that is no longer taken", oneOf(text, { type: "null" }), text, ["body no longer takes null"]],
  ["null in a list of types", { type: ["string", "null"] }, text, ["body no longer takes null"]],
  ["a value that is removed", { enum: ["x", "y"] }, { enum: ["x"] }, ['body no longer takes "y"']],
  ["a text that becomes a choice", text, { enum: ["x"] }, ["body no longer takes string"]],
  [
    "a choice that the new text excludes",
    { enum: ["x"] },
    { ...text, minLength: 2 },
    ['body no longer takes "x"'],
  ],
  ["a lower maximum", { ...number, maximum: 9 }, { ...number, maximum: 8 }, ["body has a narrower maximum"]],
  ["a first maximum", text, { ...text, maxLength: 8 }, ["body has a narrower maxLength"]],
  ["a higher minimum", { ...number, minimum: 0 }, { ...number, minimum: 1 }, ["body has a narrower minimum"]],
  ["another pattern", { ...text, pattern: "a" }, { ...text, pattern: "b" }, ["body has a narrower pattern"]],
  ["another default", { ...text, default: "x" }, { ...text, default: "y" }, ["body has another default"]],
  [
    "items of another type",
    { type: "array", items: text },
    { type: "array", items: number },
    ["body[] no longer takes string"],
  ],
  [
    "further members",
    object({}, [], { additionalProperties: text }),
    object({}),
    ["body no longer takes further members"],
  ],
  [
    "a variant that is removed",
    oneOf(a, object({ c: text }, ["c"])),
    a,
    ["body.c is no longer taken", "body.a is now required"],
  ],
])("A request breaks with %s", (_what, body, now, why) => {
  expect(whys({ body }, { body: now })).toEqual(why);
});

test.each<[string, Schema, Schema]>([
  ["a new property that may be left out", a, ab],
  ["a property that need not be given any more", object({ a: text }, ["a"]), object({ a: text })],
  ["null that is taken too", text, oneOf(text, { type: "null" })],
  ["a new value", { enum: ["x"] }, { enum: ["x", "y"] }],
  ["a choice that becomes a text", { enum: ["x"] }, text],
  ["a wider bound", { ...text, maxLength: 8, minLength: 2 }, { ...text, maxLength: 9, minLength: 1 }],
  ["a bound that is gone", { ...text, maxLength: 8, pattern: "a" }, text],
  ["a number in place of an integer", number, { type: "number" }],
  ["any value in place of a text", a, object({ a: {} }, ["a"])],
  ["a new variant", a, oneOf(a, text)],
])("A request does not break with %s", (_what, body, now) => {
  expect(whys({ body }, { body: now })).toEqual([]);
});

test.each<[string, Schema, Schema, string[]]>([
  ["a property that is removed", ab, a, ["200.b is no longer there"]],
  ["a property that may be missing", a, object({ a: text }), ["200.a may now be missing"]],
  ["another type", a, object({ a: number }, ["a"]), ["200.a may be integer, which it was not"]],
  ["null", text, { type: ["string", "null"] }, ["200 may be null, which it was not"]],
  ["a new value of a choice", { enum: ["x"] }, { enum: ["x", "y"] }, ['200 may be "y", which it was not']],
  [
    "members of another type",
    object({}, [], { additionalProperties: text }),
    object({}, [], { additionalProperties: number }),
    ["200.* may be integer, which it was not"],
  ],
  [
    "items of another type",
    { type: "array", items: text },
    { type: "array", items: number },
    ["200[] may be integer, which it was not"],
  ],
])("An answer breaks with %s", (_what, answer, now, why) => {
  expect(whys({ answer }, { answer: now })).toEqual(why);
});

test.each<[string, Schema, Schema]>([
  ["a new property", a, object({ a: text, b: text }, ["a", "b"])],
  ["a property that is always there", ab, object({ a: text, b: text }, ["a", "b"])],
  ["fewer values", { enum: ["x", "y"] }, { enum: ["x"] }],
  ["another bound", { ...text, maxLength: 8 }, { ...text, maxLength: 9 }],
  ["a variant that is gone", oneOf(a, text), a],
])("An answer does not break with %s", (_what, answer, now) => {
  expect(whys({ answer }, { answer: now })).toEqual([]);
});

const query = (required: boolean, schema: Schema = text) => ({ name: "q", in: "query", required, schema });

test.each<[string, object, object, string[]]>([
  ["another operationId", {}, { operationId: "set" }, ["has another operationId"]],
  ["a parameter that is removed", { parameters: [query(false)] }, {}, ["query q is no longer taken"]],
  ["a new parameter that is required", {}, { parameters: [query(true)] }, ["query q is now required"]],
  [
    "a parameter of another type",
    { parameters: [query(false)] },
    { parameters: [query(false, number)] },
    ["query q no longer takes string"],
  ],
  ["a body that is no longer taken", {}, { requestBody: undefined }, ["body is no longer taken"]],
  [
    "a body that becomes required",
    { requestBody: undefined },
    { requestBody: { required: true } },
    ["body is now required"],
  ],
  [
    "another success",
    { responses: { 200: {} } },
    { responses: { 201: {} } },
    ["no longer answers 200", "may answer 201"],
  ],
  [
    "a header that is gone",
    { responses: { 200: { headers: { ETag: {} } } } },
    { responses: { 200: {} } },
    ["200 has no longer the header ETag"],
  ],
  ["a token that is asked for", { security: [] }, {}, ["now needs a token"]],
])("An operation breaks with %s", (_what, operation, now, why) => {
  expect(whys({ operation }, { operation: now })).toEqual(why);
});

test("An operation breaks if it is removed, and not with a new one beside it or with a new parameter that may be left out", () => {
  const gone = { ...api(), paths: { "/v1/b": api().paths["/v1/a"] ?? {} } };
  expect(documentBreaks(api(), gone)).toEqual([{ id: "PUT /v1/a", why: "PUT /v1/a: is removed" }]);
  expect(documentBreaks(api(), { ...api(), paths: { ...gone.paths, ...api().paths } })).toEqual([]);
  expect(whys({}, { operation: { parameters: [query(false)] } })).toEqual([]);
});

test("A shared schema breaks once, by its own name and for the direction in which it is used", () => {
  const shared = { $ref: "#/components/schemas/Shared" };
  const parts = (schema: Schema) => ({ body: object({ x: shared, y: shared }), schemas: { Shared: schema } });
  expect(documentBreaks(api(parts(ab)), api(parts(a)))).toEqual([
    { id: "Shared", why: "in a request: Shared.b is no longer taken" },
  ]);
  expect(
    whys(
      { answer: shared, schemas: { Shared: a } },
      { answer: shared, schemas: { Shared: object({ a: text }) } },
    ),
  ).toEqual(["in an answer: Shared.a may now be missing"]);
});

test("A schema that becomes a shared one, or ceases to be one, is compared by its contents", () => {
  const shared = { $ref: "#/components/schemas/Shared" };
  expect(whys({ body: a }, { body: shared, schemas: { Shared: ab } })).toEqual([]);
  expect(whys({ body: shared, schemas: { Shared: ab } }, { body: a })).toEqual(["body.b is no longer taken"]);
});

test("Alternatives of a oneOf are compared as those of an anyOf", () => {
  const alternatives = { oneOf: [text, { type: "null" }] };
  expect(whys({ body: alternatives }, { body: oneOf(text, { type: "null" }) })).toEqual([]);
  expect(whys({ body: alternatives }, { body: { oneOf: [text] } })).toHaveLength(1);
});

test.each([
  { type: "string", contentEncoding: "base64" },
  { anyOf: [text], type: "string" },
])("A comparison refuses a document with a keyword that it does not know: %o", (schema) => {
  expect(() => whys({ body: schema }, { body: schema })).toThrow(
    "The comparison of API documents does not know",
  );
});
