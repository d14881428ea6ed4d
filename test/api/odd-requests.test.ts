import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { document, type Operation } from "./contract.ts";
import { objectsIn, oddNames, oddStrings, type Place, pathOf, replaced, stringsIn } from "./odd-values.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

/**
 * Sends odd values in each string of the OpenAPI document. Strings of a schedule are in
 * `odd-fields.test.ts`.
 */

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi();
  api.betweenRequestsMs = 0;
  await api.send("PUT", "/v1/schedules/odd", {
    body: { when: "every 1d", target: { queue: "demo" }, group: "odd", tags: ["odd"] },
  });
});
afterAll(() => api.stop());

const operations = Object.entries(document.paths).flatMap(([template, byMethod]) =>
  Object.entries(byMethod).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${template}`,
    method: method.toUpperCase(),
    template,
    operation,
  })),
);

/** The caller chooses the id of an arrival, so only a valid one leaves the odd field alone at fault. */
const idsOf = (template: string) =>
  template.startsWith("/v1/arrivals/") ? { id: "0199f3c2-6f0e-7cc1-9d0f-6a8f5e1b2c3d" } : {};

const plain = { target: "queue/demo", n: "1", key: "odd", name: "odd" };

function pathWith(template: string, values: Record<string, string>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "1");
}

/** Encodes text as a client could, including half of a surrogate pair. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll("%EF%BF%BD", "%ED%A0%80");
}

interface Answered {
  status: number;
  json: unknown;
}

/**
 * A 400 must have the path of the fault or of a value above it, because some values have several
 * forms. A member without a name has no path.
 */
function expectPath(path: string, { status, json }: Answered) {
  if (status !== 400 || path === "") return;
  const { errors = [] } = json as { errors?: { path: string }[] };
  const paths = errors.map((each) => each.path.toLowerCase());
  const isNamed = (each: string) =>
    path.toLowerCase().startsWith(each) || each.startsWith(path.toLowerCase());
  expect(
    paths.filter((each) => each !== "" && isNamed(each)),
    `${path} among ${paths}`,
  ).not.toEqual([]);
}

/** Valid values of query parameters that a route requires. */
const needed: Readonly<Record<string, string>> = {
  from: "2026-12-01T08:00:00Z",
  to: "2026-12-01T10:00:00Z",
  outcome: "held",
};

/** The other required parameters, so that only the odd one can be at fault. */
const othersNeeded = (operation: Operation, name: string) =>
  operation.parameters.flatMap((each) => {
    const value = needed[each.name];
    const isNeeded = each.in === "query" && each.required && each.name !== name && value !== undefined;
    return isNeeded ? [`&${each.name}=${value}`] : [];
  });

const parameters = (operation: Operation, place: "path" | "query" | "header") =>
  operation.parameters.filter((each) => each.in === place).map(({ name }) => name);

describe.each(operations)(
  "$name answers odd text with a success or a problem of the caller's",
  ({ method, template, operation }) => {
    const path = pathWith(template, { ...plain, ...idsOf(template) });
    const media = operation.requestBody?.content["application/json"];
    const isBatch = template === "/v1/schedules:batch";
    const body = media === undefined || isBatch ? {} : { body: media.example };

    test.each(parameters(operation, "path"))(
      "Odd text in the path parameter {%s} never fails the server",
      async (name) => {
        for (const odd of oddStrings(Reflect.get(plain, name) ?? "odd")) {
          const answer = await api.send(method, pathWith(template, { ...plain, [name]: odd }), body);
          expect(answer.status, `${name} ${JSON.stringify(odd)}`).toBeLessThan(500);
        }
      },
    );

    test.each(parameters(operation, "query"))(
      "Odd text in the query parameter %s never fails the server",
      async (name) => {
        for (const odd of [...oddStrings("odd"), ...oddStrings("2026-12-01T09:00:00Z")]) {
          const answer = await api.send(method, path, {
            ...body,
            query: [`${name}=${encoded(odd)}`, ...othersNeeded(operation, name)].join(""),
          });
          expect(answer.status, `${name} ${JSON.stringify(odd)}`).toBeLessThan(500);
          if (!odd.includes("\ud800") && !odd.includes("\udfff")) expectPath(name, answer);
        }
      },
    );

    test.each(parameters(operation, "header"))(
      "Odd text in the header %s never fails the server",
      async (name) => {
        for (const odd of oddStrings('"1"')) {
          const answer = await api.send(method, path, { ...body, headers: { [name.toLowerCase()]: odd } });
          expect(answer.status, `${name} ${JSON.stringify(odd)}`).toBeLessThan(500);
          expectPath(name, answer);
        }
      },
    );

    test.runIf(media !== undefined && !isBatch)(
      "Odd text in the body's strings and names never fails the server",
      async () => {
        const sent = media?.example;
        const expectAnswered = async (place: Place, other: unknown) => {
          const answer = await api.send(method, path, { body: other });
          expect(answer.status, `${pathOf(place)} of ${JSON.stringify(other)}`).toBeLessThan(500);
          expectPath(pathOf(place), answer);
        };
        for (const { place, text } of stringsIn(sent))
          for (const odd of oddStrings(text)) await expectAnswered(place, replaced(sent, place, odd));
        for (const place of objectsIn(sent))
          for (const name of oddNames)
            await expectAnswered([...place, name], replaced(sent, [...place, name], "x"));
      },
    );
  },
);
