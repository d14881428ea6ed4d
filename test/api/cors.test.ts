import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { corsFrom } from "../../lib/api/request/cors.ts";
import { isOrigin } from "../../lib/config/cors-origins.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

const app = "https://app.example.com";
const local = "http://localhost:5173";

const asking = (origin: string, method = "PUT", names = "authorization,content-type,if-match") => ({
  origin,
  "access-control-request-method": method,
  "access-control-request-headers": names,
});

/** The CORS headers of an answer. */
function forBrowsers({ headers }: { headers: Readonly<Record<string, string>> }) {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith("access-control") || name === "vary"),
  );
}

const namesIn = (list: string | undefined) => (list ?? "").split(", ");

describe.each(["http", "rest"] as const)("pages of other origins, through a %s API", (gateway) => {
  let api: OwnApi;
  beforeAll(async () => {
    api = await ownApi({ API_CORS_ORIGINS: `${app},${local}` }, gateway);
  });
  afterAll(() => api.stop());

  test("Pages of allowed origins may send every kind of request, and the preflight needs no token", async () => {
    const answer = await api.send("OPTIONS", "/v1/schedules/a b", { as: "", headers: asking(app) });
    expect([answer.status, answer.body]).toEqual([204, ""]);
    const { headers } = answer;
    expect(headers["access-control-allow-origin"]).toBe(app);
    expect(namesIn(headers["access-control-allow-methods"])).toEqual([
      "GET",
      "PUT",
      "POST",
      "PATCH",
      "DELETE",
    ]);
    expect(namesIn(headers["access-control-allow-headers"])).toEqual(
      expect.arrayContaining([
        "authorization",
        "content-type",
        "if-match",
        "if-none-match",
        "idempotency-key",
      ]),
    );
    expect(headers["access-control-allow-credentials"]).toBeUndefined();
  });

  test("Pages of allowed origins read answers with their ETag, and refusals with their reason", async () => {
    const headers = { origin: local };
    const body = { when: "every 1h", target: { queue: "demo" } };
    const made = await api.send("PUT", "/v1/schedules/a", { body, headers });
    expect(made.status).toBe(201);
    expect(made.headers["access-control-allow-origin"]).toBe(local);
    const readable = namesIn(made.headers["access-control-expose-headers"]);
    for (const name of Object.keys(made.headers))
      expect(["cache-control", "content-type", "vary", "x-content-type-options", ...readable]).toContain(
        name.startsWith("access-control") ? "vary" : name,
      );
    const answers = [
      await api.send("GET", "/v1/schedules", { as: "", headers }),
      await api.send("GET", "/nowhere", { headers }),
      await api.send("PUT", "/v1/schedules/b", { headers, body: "{" }),
      await api.send("GET", "/health", { as: "", headers }),
      await api.send("PUT", "/v1/schedules/a", { body, headers: { ...headers, "if-match": '"9"' } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 400, 200, 412]);
    for (const answer of answers) expect(answer.headers["access-control-allow-origin"]).toBe(local);
  });

  test.each([
    "https://evil.example.com",
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://app.example.com.evil.example",
    "null",
    "",
  ])("Pages of an origin that is not allowed (%j) get no CORS headers", async (origin) => {
    const plain = await api.send("GET", "/v1/schedules", { headers: { origin } });
    expect(forBrowsers(plain)).toEqual({ vary: "origin" });
    const asked = await api.send("OPTIONS", "/v1/schedules", { as: "", headers: asking(origin) });
    expect(forBrowsers(asked)).toEqual({ vary: "origin" });
  });

  test("An OPTIONS request that is not a preflight is an ordinary request", async () => {
    expect((await api.send("OPTIONS", "/v1/schedules", { as: "" })).status).toBe(401);
    expect((await api.send("OPTIONS", "/v1/schedules", { as: "", headers: { origin: app } })).status).toBe(
      401,
    );
  });
});

test("Without the setting, answers have no CORS headers and a preflight needs a token", async () => {
  const api = await ownApi();
  const plain = await api.send("GET", "/v1/schedules", { headers: { origin: app } });
  expect(forBrowsers(plain)).toEqual({});
  expect((await api.send("OPTIONS", "/v1/schedules", { as: "", headers: asking(app) })).status).toBe(401);
  await api.stop();
});

test("Allowed origins are written as browsers send them", () => {
  for (const origin of [app, local, "http://127.0.0.1:3000", "https://a.example:8443"])
    expect([origin, isOrigin(origin)]).toEqual([origin, true]);
  for (const origin of [
    "*",
    "null",
    "https://*.example.com",
    "https://app.example.com/",
    "https://App.example.com",
    "https://app.example.com:443",
    "http://app.example.com",
    "app.example.com",
    "",
  ])
    expect([origin, isOrigin(origin)]).toEqual([origin, false]);
  expect(() => corsFrom({ API_CORS_ORIGINS: `${app},*` })).toThrow('holds "*"; it takes origins');
});
