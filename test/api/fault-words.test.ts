import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(() => api.stop());

interface Schema {
  properties?: Record<string, Schema>;
  $ref?: string;
}

interface Document {
  paths: Record<
    string,
    Record<string, { requestBody?: { content: Record<string, { schema: Schema }> }; parameters?: unknown[] }>
  >;
  components: { schemas: Record<string, Schema> };
}

const odd = [null, [], {}, "", 5, -1.5, true, 1e9, ["", 1, {}], { key: 1, handler: 2 }];

function namesOf(document: Document, schema: Schema | undefined): string[] {
  if (schema?.$ref === undefined) return Object.keys(schema?.properties ?? {});
  return namesOf(document, document.components.schemas[schema.$ref.split("/").at(-1) ?? ""]);
}

function messagesOf(json: unknown): string[] {
  const { detail = "", errors = [] } = (json ?? {}) as { detail?: string; errors?: { message: string }[] };
  return [detail, ...errors.map(({ message }) => message)];
}

test("Faults of a body are worded by Carillon on every route, not by its libraries", async () => {
  const document = (await api.send("GET", "/v1/openapi.json")).json as Document;
  const library = /Invalid |Too (small|big)|Unrecognized|expected |^[A-Z].*received/;
  const said = new Set<string>();
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { requestBody }] of Object.entries(methods)) {
      const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
      if (schema === undefined) continue;
      const bodies = namesOf(document, schema).flatMap((name) => odd.map((value) => ({ [name]: value })));
      for (const body of [...odd, ...bodies]) {
        const { status, json } = await api.send(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, "x"), {
          body: JSON.stringify(body),
        });
        expect(status).toBeLessThan(500);
        if (status === 400) for (const message of messagesOf(json)) said.add(message);
      }
    }
  expect([...said].filter((message) => library.test(message))).toEqual([]);
  expect(said).toContain("takes an object, not null");
  expect(said).toContain('takes "high", "normal" or "low"');
  expect(said).toContain("takes at least 1 item");
  expect(said).toContain("takes a whole number");
});
