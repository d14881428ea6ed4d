import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changesBetween } from "../../lib/history/version-changes.ts";
import { isCancelPlace } from "../../lib/job-control/cancel-many.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi();
});
afterAll(() => api.stop());

const good = { put: { key: "good", when: "every 1d", target: { queue: "demo" } } };

describe("batches with an odd operation", () => {
  const batch = async (odd: object, headers: Record<string, string> = {}) => {
    const body = { operations: [odd, good] };
    const { status, json } = await api.send("POST", "/v1/schedules:batch", { body, headers });
    expect(status).toBe(200);
    return json;
  };

  test("A webhook's host that is too long when resolved fails only its operation", async () => {
    const host = Array.from({ length: 38 }, (_, n) => `${"漢字仮名交じり文章".repeat(5)}${n}`).join(".");
    const url = `https://${host}/`;
    expect(url.length).toBeLessThan(2_048);
    const answer = await batch({ put: { key: "idn", when: "every 1d", target: { webhook: { url } } } });
    expect(answer).toMatchObject({ results: [{ status: 400 }, { status: 201 }] });
    expect(JSON.stringify(answer)).toContain("a host of at most 253 characters");
  });

  test("A hold's owner that cannot be a token's name fails only its operation", async () => {
    const made = await api.send("POST", "/v1/tokens", {
      body: { name: "team-admin", scope: "admin", prefix: "g" },
    });
    const { token } = made.json as { token: string };
    const answer = await batch(
      { pause: { key: "good", owner: "\u0000" } },
      { authorization: `Bearer ${token}` },
    );
    expect(answer).toMatchObject({ results: [{ status: 400 }, { status: expect.any(Number) }] });
  });

  test("A patch that removes a member with an impossible name fails only its operation", async () => {
    for (const name of ["b\u0000", "\ud800"]) {
      const answer = await batch({ patch: { key: "good", payload: { [name]: null } } });
      expect(answer).toMatchObject({ results: [{ status: 400 }, { status: expect.any(Number) }] });
    }
  });
});

describe("searches of a time that ends before it begins", () => {
  const query = "from=2026-03-02T10:00:00Z&to=2026-03-02T09:00:00Z";
  const fault = { path: "to", message: "must lie after `from`" };

  test.each(["jobs", "jobs:groups", "outages", "audit"])(
    "%s refuses a `to` before its `from`",
    async (list) => {
      expect(await api.send("GET", `/v1/${list}`, { query })).toMatchObject({
        status: 400,
        json: { errors: [fault] },
      });
    },
  );

  test("A retry of many jobs refuses a `to` before its `from`", async () => {
    const filter = Object.fromEntries(new URLSearchParams(query));
    expect(await api.send("POST", "/v1/jobs:retry", { body: { filter, dryRun: true } })).toMatchObject({
      status: 400,
      json: { errors: [{ ...fault, path: "filter.to" }] },
    });
  });
});

test("A release of time zone data with an impossible name answers 404", async () => {
  expect(await api.send("GET", "/v1/zone-data/%00/moves")).toMatchObject({ status: 404 });
});

test("The cursor of a bulk cancel accepts a key or an id, and nothing else", () => {
  for (const place of ["ahead/", "ahead/order:1", "0", "17"]) expect(isCancelPlace(place)).toBe(true);
  for (const place of ["ahead/\u0000", "ahead/a/b", "-1", ""]) expect(isCancelPlace(place)).toBe(false);
});

test("A payload's member that is named like one of Object.prototype is compared like any other", () => {
  const before = JSON.parse('{"n": 1}');
  const after = JSON.parse('{"n": 1, "constructor": "x", "__proto__": {"a": 2}}');
  expect(changesBetween(before, after, "payload")).toEqual([
    { path: "payload.constructor", before: null, after: "x" },
    { path: "payload.__proto__", before: null, after: { a: 2 } },
  ]);
});
