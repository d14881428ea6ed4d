import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { operationName } from "../../lib/api/document/openapi-names.ts";
import { costText } from "../../lib/api/request/cost.ts";
import { document, routes } from "./contract.ts";

const page = readFileSync(new URL("../../docs/api.md", import.meta.url), "utf8");

test("The table of costs in docs/api.md has each route that may cost more than one unit", () => {
  const section = /\n#### The cost of a request\n(.*?)\n#+ /s.exec(page)?.[1] ?? "";
  const rows = [...section.matchAll(/^\| `(\w+ [^`]+)` \| (.+) \|$/gm)].map(([, name, cost]) => [name, cost]);
  const costly = routes.filter(({ cost }) => cost !== 1);
  expect(costly.length).toBeGreaterThan(20);
  expect(Object.fromEntries(rows)).toEqual(
    Object.fromEntries(costly.map(({ method, path, cost }) => [`${method} ${path}`, costText(cost)])),
  );
});

test("The OpenAPI document has the cost of each operation, and the header of those above one unit", () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  for (const { method, path, doc, cost } of routes) {
    const name = doc.operation ?? operationName(method, path);
    const operation = operations.find(({ operationId }) => operationId === name);
    expect(operation?.["x-carillon-cost"]).toBe(costText(cost));
    for (const status of Object.keys(doc.answers)) {
      const headers = Object.keys(operation?.responses[status]?.headers ?? {});
      expect(headers.includes("carillon-cost")).toBe(cost !== 1);
    }
  }
});
