import { afterAll, beforeAll, expect, test } from "vitest";
import type { Webhook } from "../../lib/schedule/shape/webhook-credentials.ts";
import { type OwnApi, ownApi } from "../api/own-api.ts";
import { openedWebhook } from "./opened-webhook.ts";

/** In every credential of these tests. */
const canary = "c4n4ry";
const secretOf = (n: number) => `whsec_${Buffer.from(`${canary}-${n}`.padEnd(32, "x")).toString("base64")}`;

const webhook = (n: number) => ({
  url: `https://example.com/in?sig=${canary}-${n}-0123456789abcdef&shown=1`,
  headers: {
    authorization: `Bearer ${canary}-${n}-0123456789abcdef`,
    "x-acme": `${canary}-${n}`,
    "x-note": "shown",
  },
  secretHeaders: ["x-acme"],
  secret: secretOf(n),
});
const body = (n: number) => ({ when: "every 1h", target: { webhook: webhook(n) } });

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi();
});
afterAll(() => api.stop());

const send = (method: string, path: string, sent?: object, headers: Record<string, string> = {}) =>
  api.send(method, path, { ...(sent === undefined ? {} : { body: sent }), headers });
const put = (key: string, sent: object) => send("PUT", `/v1/schedules/${key}`, sent);
const member = (json: unknown, name: string): unknown => Reflect.get(Object(json), name);

async function storedWebhook(key: string, version: number): Promise<Webhook> {
  const [row] = await api.sql<{ webhook: Webhook }[]>`
    select v.target->'webhook' as webhook from carillon.schedules s
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = ${version} where s.key = ${key}`;
  if (row === undefined) throw new Error(`${key} has no version ${version}.`);
  return row.webhook;
}

const opened = async (key: string, version = 1) => openedWebhook(api.sql, await storedWebhook(key, version));

/** The rows of all tables that hold this text. */
async function rowsWith(text: string): Promise<string[]> {
  const tables = await api.sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'carillon'`;
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await api.sql.unsafe(`select t::text as row from ${name} t where t::text like '%${text}%'`);
    found.push(...rows.map((row) => `${name}: ${String(row["row"])}`));
  }
  return found;
}

test("No credential is in any row of the database, by whatever way it was written", async () => {
  await put("way:put", body(1));
  await send("POST", "/v1/schedules", { key: "way:post", ...body(1) });
  await send("PATCH", "/v1/schedules/way:put", { target: { webhook: webhook(2) } });
  await send("POST", "/v1/schedules:batch", { operations: [{ put: { key: "way:batch", ...body(3) } }] });
  await send("POST", "/v1/jobs", { target: { webhook: webhook(4) } }, { "idempotency-key": "job-1" });
  await send("POST", "/v1/schedules", { key: "way:refused", ...body(5), timezone: "Mars/Base" });
  await send("DELETE", "/v1/schedules/way:post");
  expect(await rowsWith(canary)).toEqual([]);
  expect(await rowsWith(Buffer.from(canary).toString("base64").slice(0, 7))).toEqual([]);
  expect((await opened("way:batch")).secret).toEqual([secretOf(3)]);
});

test("An opened request has all credentials as they were sent", async () => {
  await put("open", body(7));
  const { url, headers, secret } = await opened("open");
  expect({ url, headers, secret }).toEqual({
    url: webhook(7).url,
    headers: webhook(7).headers,
    secret: [secretOf(7)],
  });
});

test("Answers show *** for each credential, and a body that is put back as it was read changes nothing", async () => {
  await put("shown", body(1));
  const { json } = await send("GET", "/v1/schedules/shown");
  expect(member(member(json, "target"), "webhook")).toEqual({
    url: "https://example.com/in?sig=***&shown=1",
    method: "POST",
    headers: { authorization: "***", "x-acme": "***", "x-note": "shown" },
    secretHeaders: ["x-acme"],
    secret: "***",
  });
  const again = await put("shown", { when: "every 1h", target: member(json, "target") });
  expect(member(again.json, "version")).toBe(1);
});

test("A put of the same long credentials changes nothing, and one of another credential says which changed", async () => {
  const same = (n: number) => ({
    ...body(n),
    target: {
      webhook: {
        ...webhook(n),
        headers: { authorization: webhook(n).headers.authorization },
        secretHeaders: undefined,
      },
    },
  });
  await put("same", same(1));
  expect(member((await put("same", same(1))).json, "version")).toBe(1);
  expect(member((await put("same", same(2))).json, "version")).toBe(2);
  const { json } = await send("GET", "/v1/schedules/same/versions");
  expect(JSON.stringify(json)).toContain("target.webhook.headers.authorization");
  expect(JSON.stringify(json)).toContain("target.webhook.secret");
});

test("A stored credential never goes to another host", async () => {
  await put("host", body(1));
  const elsewhere = {
    ...webhook(1),
    url: "https://evil.example/in?sig=***",
    secret: "***",
    headers: { authorization: "***" },
    secretHeaders: undefined,
  };
  const { status, json } = await put("host", { when: "every 1h", target: { webhook: elsewhere } });
  expect(status).toBe(422);
  expect(member(json, "errors")).toEqual([
    { path: "target.webhook.url", message: expect.stringContaining("stored for another host") },
    {
      path: "target.webhook.headers.authorization",
      message: expect.stringContaining("stored for another host"),
    },
    { path: "target.webhook.secret", message: expect.stringContaining("stored for another host") },
  ]);
});

test("A header that is no longer named as secret stays hidden as long as its value is the stored one", async () => {
  await put("unnamed", body(1));
  const patched = await send("PATCH", "/v1/schedules/unnamed", {
    target: { webhook: { secretHeaders: null } },
  });
  expect(patched.status).toBe(200);
  expect(member(member(member(patched.json, "target"), "webhook"), "headers")).toMatchObject({
    "x-acme": "***",
  });
  expect((await opened("unnamed", 2)).headers).toMatchObject({ "x-acme": `${canary}-1` });
});

test("A restored version has its credentials back", async () => {
  await put("back", body(1));
  await put("back", body(2));
  const { status } = await send("POST", "/v1/schedules/back/versions/1/restore");
  expect(status).toBe(200);
  expect((await opened("back", 3)).secret).toEqual([secretOf(1)]);
});

test("Names of secret headers and parameters that the webhook does not have are refused", async () => {
  const odd = { ...webhook(1), secretHeaders: ["x-amce"], secretQuery: ["sgi"] };
  const { status, json } = await put("odd", { when: "every 1h", target: { webhook: odd } });
  expect(status).toBe(400);
  expect(member(json, "errors")).toEqual([
    { path: "target.webhook.secretHeaders[0]", message: "is not the name of a header here" },
    { path: "target.webhook.secretQuery[0]", message: "is not a parameter of the URL" },
  ]);
});
