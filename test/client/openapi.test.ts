import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { Carillon } from "../../lib/client/main.ts";
import { document, type Operation } from "../api/contract.ts";
import { operations } from "./operations.ts";
import { typeText } from "./schema-text.ts";

const root = path.join(import.meta.dirname, "..", "..");

const documented = Object.entries(document.paths).flatMap(([where, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), where, operation })),
);

/** The one request that a call of the client sends. */
async function requestOf(
  name: string,
): Promise<{ method: string; url: URL; headers: Headers; body: unknown }> {
  const requests: { method: string; url: URL; headers: Headers; body: unknown }[] = [];
  const carillon = new Carillon({
    url: "https://api.example.com",
    token: "t",
    fetch: async (input, init) => {
      const body: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : undefined;
      requests.push({
        method: init?.method ?? "GET",
        url: new URL(String(input)),
        headers: new Headers(init?.headers),
        body,
      });
      return new Response('{"items":[],"results":[]}');
    },
  });
  await operations[name]?.call(carillon);
  const [request] = requests;
  if (request === undefined || requests.length !== 1)
    throw new Error(`${name} makes ${requests.length} requests.`);
  return request;
}

describe.each(documented)("$operation.operationId", ({ method, where, operation }) => {
  test("The client reaches the operation with all of its parameters", async () => {
    const { operationId, parameters } = operation;
    expect(Object.keys(operations)).toContain(operationId);
    const request = await requestOf(operationId);
    expect(request.method).toBe(method);
    expect(decodeURIComponent(request.url.pathname)).toMatch(patternOf(where));
    const named = (place: string) => parameters.filter((each) => each.in === place).map(({ name }) => name);
    expect([...request.url.searchParams.keys()].sort()).toEqual(named("query").sort());
    for (const header of named("header"))
      if (!operationId.startsWith("preview") && !repeatable.has(operationId))
        expect([...request.headers.keys()]).toContain(header.toLowerCase());
    if (operation.requestBody?.required === true) expect(request.body).toBeTypeOf("object");
  });
});

/** These change nothing, or may be repeated, so the client sends them without the header. */
const repeatable: ReadonlySet<string> = new Set(["lastOccurrences", "stepMove", "stepArrival"]);

function patternOf(where: string): RegExp {
  return new RegExp(`^${where.replace(/\{(\w+)\}/g, (_, name) => (name === "target" ? ".+" : "[^/]+"))}$`);
}

test("The client's types equal the document's schemas of requests and answers", () => {
  const checks = documented.flatMap(({ operation }) => checksOf(operation));
  expect(checks.length).toBeGreaterThan(60);
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-types-"));
  try {
    writeFileSync(path.join(folder, "check.ts"), [header, ...checks].join("\n"));
    writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(settings));
    const tsc = path.join(root, "node_modules", ".bin", "tsc");
    const { stdout } = spawnSync(tsc, ["-p", folder], { encoding: "utf8" });
    expect(stdout).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const settings = {
  compilerOptions: {
    target: "es2022",
    lib: ["es2022", "dom"],
    types: [],
    module: "esnext",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    strict: true,
    noEmit: true,
  },
  files: ["check.ts"],
};

/**
 * Types in both directions must be assignable, and neither may have a field that the other lacks.
 */
const header = `
import type * as Client from ${JSON.stringify(path.join(root, "lib", "client", "main.ts"))};
type Sent<T> = [Client.Json] extends [T] ? any : T extends Date ? never : T extends object ? { [Name in keyof T]: Sent<T[Name]> } : T;
type NamesOf<T> = T extends readonly (infer Item)[] ? NamesOf<Item> : T extends object ? keyof T : never;
type Same<Names, Others> = [Exclude<Names, Others> | Exclude<Others, Names>] extends [never] ? true : [Exclude<Names, Others> | Exclude<Others, Names>];
declare function given<T>(): T;
`;

function checksOf({ operationId, requestBody, responses }: Operation): string[] {
  const reached = operations[operationId];
  const checks: string[] = [];
  const answers = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  for (const [status, { content }] of answers) {
    const schema = content["application/json"]?.schema;
    if (schema !== undefined)
      checks.push(
        check(`${operationId}_${status}`, schema, `${reached?.answers?.[status] ?? reached?.answer}`),
      );
  }
  const sent = requestBody?.content["application/json"]?.schema;
  if (sent !== undefined && reached?.body !== undefined)
    checks.push(check(`${operationId}_body`, sent, `Sent<${reached.body}>`));
  return checks;
}

function check(name: string, schema: unknown, client: string): string {
  const own = client.replace(/(?<![\w".])([A-Z]\w+)(?!\w*")/g, (word) =>
    word === "Sent" ? word : `Client.${word}`,
  );
  return [
    `type ${name} = ${typeText(schema, find)};`,
    `const ${name}_told: ${own} = given<${name}>();`,
    `const ${name}_known: ${name} = given<${own}>();`,
    `const ${name}_names: Same<NamesOf<${name}>, NamesOf<${own}>> = true;`,
  ].join("\n");
}

function find(reference: string): unknown {
  return document.components.schemas[reference.replace("#/components/schemas/", "")];
}
