import { afterEach, beforeEach, expect, test } from "vitest";
import { type OwnApi, ownApi } from "../../api/own-api.ts";

let api: OwnApi;
beforeEach(async () => {
  api = await ownApi();
});
afterEach(() => api.stop());

const body = { when: "every 1h", target: { queue: "carillon-target-a" } };

test("A request with a field of a newer release is refused whole, with the name of the field", async () => {
  const { status, json } = await api.send("PUT", "/v1/schedules/a", { body: { ...body, colour: "red" } });
  expect(status).toBe(400);
  expect(json).toMatchObject({ type: "urn:carillon:problem:invalid", errors: [{ path: "colour" }] });
  expect((await api.send("GET", "/v1/schedules/a")).status).toBe(404);
});

test("A request with a query parameter of a newer release is refused whole, with the name of the parameter", async () => {
  await api.send("PUT", "/v1/schedules/a", { body });
  const { status, json } = await api.send("GET", "/v1/schedules", { query: "colour=red" });
  expect(status).toBe(400);
  expect(json).toMatchObject({ type: "urn:carillon:problem:invalid", errors: [{ path: "colour" }] });
});

test("A request to a route of a newer release gets 404 missing, or 405 where the path has other methods", async () => {
  expect(await api.send("POST", "/v1/colours")).toMatchObject({
    status: 404,
    json: { type: "urn:carillon:problem:missing" },
  });
  expect(await api.send("PATCH", "/v1/stats", { body: {} })).toMatchObject({
    status: 405,
    json: { type: "urn:carillon:problem:method-not-allowed" },
  });
});
