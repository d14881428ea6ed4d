import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { operationName } from "../../lib/api/document/openapi-names.ts";
import { makeSchemas } from "../../lib/api/document/openapi-schemas.ts";
import { keyFault, keyShape } from "../../lib/schedule/shape/schedule-key.ts";
import { checkExchange, document, type Operation, responseOf, routes, schemaFault } from "./contract.ts";

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
);

describe("the OpenAPI document", () => {
  test("The OpenAPI document is valid by the official schema of OpenAPI 3.1", async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result).toMatchObject({ valid: true });
  });

  test("The OpenAPI document has the version of the package", () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(document.info.version).toBe(version);
  });

  test("The OpenAPI document has every route and the health probe", () => {
    const told = routes.map(({ method, path }) => `${method} ${path.replace("+}", "}")}`);
    expect(operations.map(({ name }) => name).sort()).toEqual([...told, "GET /health"].sort());
  });

  test("Each operation has a unique, readable operationId", () => {
    const names = operations.map(({ operation }) => operation.operationId);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names.filter((name) => !/^[a-z]+([A-Z][a-z]+)*$/.test(name))).toEqual([]);
  });

  test("Each shared schema has a name that says its content", () => {
    const named = Object.keys(document.components.schemas);
    expect(named.filter((name) => !/^[A-Z][A-Za-z]+$/.test(name))).toEqual([]);
  });

  test.each(operations)("The examples match their schemas: $name", ({ operation }) => {
    expect(exampleFaults(operation)).toEqual([]);
  });
});

function exampleFaults({ requestBody, responses, parameters }: Operation): string[] {
  const bodies = Object.values(requestBody?.content ?? {});
  const answers = Object.keys(responses).flatMap((status) => {
    const response = responses[status];
    return response === undefined ? [] : Object.values(responseOf(response).content);
  });
  const examples = [...bodies, ...answers].map(({ schema, example }) => ({ schema, example }));
  const named = parameters.flatMap(({ schema, example }) =>
    typeof example === "string"
      ? [{ schema, example: schema["type"] === "integer" ? Number(example) : example }]
      : [],
  );
  return [...examples, ...named].flatMap(({ schema, example }) => {
    const fault = example === undefined ? " is missing" : schemaFault(schema, example);
    return fault === null ? [] : [`the example ${JSON.stringify(example)}${fault}`];
  });
}

describe("operationIds", () => {
  test.each([
    ["GET", "/v1/schedules", "listSchedules"],
    ["POST", "/v1/schedules", "createSchedule"],
    ["PUT", "/v1/schedules/{key}", "putSchedule"],
    ["DELETE", "/v1/tokens/{id}", "deleteToken"],
    ["GET", "/v1/schedules/{key}/jobs", "listScheduleJobs"],
    ["POST", "/v1/schedules/{key}/pause", "pauseSchedule"],
    ["POST", "/v1/schedules:batch", "batchSchedules"],
    ["GET", "/v1/zone-data/{version}/moves", "listZoneDataMoves"],
    ["GET", "/v1/zone-data", "getZoneData"],
    ["GET", "/v1/entries/{id}", "getEntry"],
  ])("%s %s has the operationId %s", (method, path, name) => {
    expect(operationName(method, path)).toBe(name);
  });
});

describe("schemas and the code", () => {
  const key = makeSchemas();
  const reference = key.of(keyShape, "input");
  const keySchema = key.components()["Key"] ?? {};

  test("Each key that the code accepts matches the schema", () => {
    expect(reference).toEqual({ $ref: "#/components/schemas/Key" });
    const texts = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.string());
    fc.assert(
      fc.property(texts, (text) => {
        fc.pre(keyFault(text) === null);
        expect(schemaFault(keySchema, text)).toBeNull();
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    "",
    " a",
    "a ",
    ".",
    "..",
    "a/b",
    "a?b",
    "a#b",
    "a%b",
    "a\\b",
    "a\nb",
    "\u0000",
    "a\u200bb",
    "a".repeat(256),
  ])("The schema refuses the key %j as the code does", (text) => {
    expect(keyFault(text)).not.toBeNull();
    expect(schemaFault(keySchema, text)).not.toBeNull();
  });

  test("Two shapes with the same name are an error", () => {
    const schemas = makeSchemas();
    schemas.of(z.string().meta({ id: "Twice" }), "input");
    expect(() => schemas.of(z.number().meta({ id: "Twice" }), "input")).toThrow("the name Twice");
  });
});

describe("exchanges that contradict the document", () => {
  const json = { "content-type": "application/json" };
  const ok = { status: 200, headers: json, body: "{}", json: { status: "ok" } };
  const health = { method: "GET", path: "/health", query: "", headers: {}, body: undefined, answer: ok };
  const fired = {
    method: "POST",
    path: "/v1/schedules/a/pause",
    query: "",
    headers: {},
    body: undefined,
    answer: {
      status: 400,
      headers: { "content-type": "application/problem+json" },
      body: "{}",
      json: problem(400),
    },
  };
  const listed = { ...health, path: "/v1/calendars", answer: { ...ok, json: { items: [] } } };

  test("An exchange that matches the document is accepted", () => {
    expect(checkExchange(health)).toBe("GET /health 200");
    expect(checkExchange(fired)).toBe("POST /v1/schedules/{key}/pause 400");
    expect(checkExchange({ ...listed, query: "limit=5" })).toBe("GET /v1/calendars 200");
  });

  test.each([
    ["a status", { ...health, answer: { ...ok, status: 201 } }, "the status is not documented"],
    [
      "a field",
      { ...health, answer: { ...ok, json: { status: "ok", more: 1 } } },
      "must NOT have additional",
    ],
    ["a value", { ...health, answer: { ...ok, json: { status: "so so" } } }, "must be equal to constant"],
    ["a header", { ...health, answer: { ...ok, headers: { ...json, etag: '"1"' } } }, "the header etag"],
    ["a form", { ...fired, answer: { ...fired.answer, headers: json } }, "the body is application/json"],
    ["a query parameter", { ...listed, query: "nonsense=1" }, "nonsense is not documented"],
    ["a number out of its bounds", { ...listed, query: "limit=500" }, "must be <= 100"],
    ["a path", { ...health, path: "/v1/elsewhere" }, "is not in the document"],
  ])("An exchange that contradicts the document is refused: %s", (_, exchange, fault) => {
    expect(() => checkExchange(exchange)).toThrow(fault);
  });
});

function problem(status: number) {
  return { type: "urn:carillon:problem:invalid", title: "No", status, detail: "No." };
}
