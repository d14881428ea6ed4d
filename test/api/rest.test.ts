import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { incomingFrom } from "../../lib/api/request/incoming.ts";
import { type EventParts, httpEvent } from "./http-event.ts";
import { type OwnApi, ownApi } from "./own-api.ts";
import { restEvent } from "./rest-event.ts";

/** The same request as read from the event of a REST API and of an HTTP API. */
function both(method: string, path: string, parts: EventParts = {}) {
  const event = httpEvent(method, path, parts);
  const { base: restBase, context: restContext, ...rest } = incomingFrom(restEvent(event));
  const { base, context, ...http } = incomingFrom(event);
  return { rest, http, restBase, base };
}

describe("requests through either kind of API", () => {
  test.each([
    ["a key with blanks and letters of everywhere", "GET", "/v1/schedules/order 1 – größer 東京 🎄", {}],
    ["a key that is encoded once more than needed", "GET", "/v1/schedules/a%20b%2520c", {}],
    ["a name with slashes", "PUT", "/v1/limits/https://example.com/a/b", { body: {} }],
    ["an empty segment", "GET", "/v1/schedules//jobs", {}],
    ["the root", "GET", "/", {}],
    ["a query", "GET", "/v1/schedules", { query: "prefix=a%2Bb+c&limit=5&tag=%F0%9F%8E%84&cursor=" }],
    ["a member given twice", "GET", "/v1/schedules", { query: "tag=a&limit=2&tag=b" }],
    ["headers", "PUT", "/v1/schedules/a", { headers: { "if-match": '"3"', "idempotency-key": "k" } }],
    ["a body in base64", "PUT", "/v1/schedules/a", { body: "e30=", isBase64Encoded: true }],
    ["no body", "POST", "/v1/schedules/a/fire", {}],
  ])("A request reads the same through a REST API and an HTTP API: %s", (_, method, path, parts) => {
    const { rest, http } = both(method, path, parts);
    const read = (query: string) => [...new URLSearchParams(query)].sort();
    expect({ ...rest, query: read(rest.query) }).toEqual({ ...http, query: read(http.query) });
  });

  test("A REST API without a page, which has one resource for all paths, sends the same path", () => {
    const event = restEvent(httpEvent("GET", "/v1/schedules/a $& b"));
    const one = { resource: "/{proxy+}", pathParameters: { proxy: "v1/schedules/a $& b" } };
    expect(incomingFrom({ ...event, ...one })).toEqual(incomingFrom(event));
    expect(incomingFrom(event).path).toBe("/v1/schedules/a $& b");
  });

  test("A header sent on several lines becomes one list", () => {
    const event = restEvent(httpEvent("PUT", "/v1/schedules/a"));
    const multiValueHeaders = { "If-Match": ['"1"'], "if-match": ['"2"', '"3"'] };
    expect(incomingFrom({ ...event, multiValueHeaders }).headers["if-match"]).toBe('"1","2","3"');
  });
});

describe("the part of the address before the path", () => {
  const at = (wholePath: string, path: string) => {
    const event = restEvent(httpEvent("GET", path));
    return incomingFrom({
      ...event,
      path: wholePath,
      requestContext: { ...event.requestContext, path: wholePath },
    });
  };

  test.each([
    ["/v/v1/schedules/a", "/v1/schedules/a", "/v"],
    ["/team/v/v1/schedules/a", "/v1/schedules/a", "/team/v"],
    ["/v1/schedules/a", "/v1/schedules/a", ""],
    ["/team/v1/schedules/order%201%3a", "/v1/schedules/order 1:", "/team"],
  ])("The part of the address before the path is separated for %s", (wholePath, path, base) => {
    expect(at(wholePath, path)).toMatchObject({ path, base });
  });

  test.each([
    ["/v/v1/schedules/%zz", "/v1/schedules/a"],
    ["/v/v1/schedules/a/", "/v1/schedules/a"],
  ])(
    "The part of the address before the path is empty if %s does not end with the path",
    (wholePath, path) => {
      expect(at(wholePath, path).base).toBe("");
    },
  );
});

describe("the API over a REST API", () => {
  let api: OwnApi;
  beforeAll(async () => {
    api = await ownApi({}, "rest");
  });
  afterAll(() => api.stop());

  const body = { when: "every 1h", target: { queue: "demo" } };

  test("A Location header has the stage and leads to the created resource", async () => {
    const made = await api.send("PUT", "/v1/schedules/über alles:1", { body });
    expect(made.status).toBe(201);
    expect(made.headers["location"]).toBe(`/v/v1/schedules/${encodeURIComponent("über alles:1")}`);
    const token = await api.send("POST", "/v1/tokens", { body: { name: "rest", scope: "read" } });
    expect(token.headers["location"]).toMatch(/^\/v\/v1\/tokens\//);
  });

  test("Preconditions, conflicts and Idempotency-Keys work as over an HTTP API", async () => {
    const headers = { "idempotency-key": "once" };
    const made = await api.send("PUT", "/v1/schedules/tagged", { body, headers });
    const again = await api.send("PUT", "/v1/schedules/tagged", { body, headers });
    expect([made.status, made.headers["etag"]]).toEqual([201, '"1"']);
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([201, "true"]);
    expect(again.headers["location"]).toBe(made.headers["location"]);
    const stale = await api.send("PATCH", "/v1/schedules/tagged", {
      body: { description: "x" },
      headers: { "if-match": '"7"' },
    });
    expect(stale.status).toBe(412);
    expect((await api.send("DELETE", "/v1/schedules/tagged")).status).toBe(204);
  });

  test("Only the health probe needs no token, and an invalid query is refused", async () => {
    expect((await api.send("GET", "/health", { as: "" })).status).toBe(200);
    expect((await api.send("GET", "/v1/schedules", { as: "" })).status).toBe(401);
    expect((await api.send("GET", "/v1/schedules", { query: "tag=a&tag=b" })).json).toMatchObject({
      status: 400,
      errors: [{ path: "tag", message: "is given more than once" }],
    });
  });
});
