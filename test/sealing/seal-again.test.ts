import { afterEach, beforeEach, expect, test } from "vitest";
import type { SealedAgain } from "../../lib/client/main.ts";
import { readSealed } from "../../lib/schedule/shape/sealed-text.ts";
import { credentialsOf, type Webhook } from "../../lib/schedule/shape/webhook-credentials.ts";
import { secretVault } from "../../lib/sealing/key-vault.ts";
import { sealSomeAgain } from "../../lib/sealing/seal-again.ts";
import { addSealingKey } from "../../lib/sealing/sealing-keys.ts";
import { type OwnApi, ownApi } from "../api/own-api.ts";
import { minute } from "../support/instants.ts";
import { testVault, testVaultAccess } from "../support/test-vault.ts";
import { openedWebhook } from "./opened-webhook.ts";
import { vaultFunction } from "./vault-function.ts";

const secretOf = (n: number) => `whsec_${Buffer.alloc(32, n).toString("base64")}`;
const webhook = (n: number) => ({
  url: "https://example.com/in?token=short",
  headers: { authorization: `Bearer ${"0123456789".repeat(3)}` },
  secret: secretOf(n),
});

let api: OwnApi;
let sender: Awaited<ReturnType<typeof vaultFunction>>;
beforeEach(async () => {
  sender = await vaultFunction(testVault);
  api = await ownApi(sender.settings);
});
afterEach(async () => {
  await api.stop();
  await sender.stop();
});

const put = (key: string, n: number) =>
  api.send("PUT", `/v1/schedules/${key}`, { body: { when: "every 1h", target: { webhook: webhook(n) } } });
const keys = "/v1/credential-keys";

/** A whole pass, with its steps added up. */
async function pass(): Promise<SealedAgain> {
  const sum: SealedAgain = { looked: 0, sealed: 0, unopened: [], removed: [] };
  let cursor: string | undefined;
  do {
    const query = cursor === undefined ? "" : `cursor=${cursor}`;
    const { status, json } = await api.send("POST", `${keys}/seal-again`, { query });
    expect(status).toBe(200);
    const step = json as SealedAgain;
    sum.looked += step.looked;
    sum.sealed += step.sealed;
    sum.unopened.push(...step.unopened);
    sum.removed.push(...step.removed);
    cursor = step.cursor;
  } while (cursor !== undefined);
  return sum;
}

interface Stored {
  key: string;
  version: number;
  webhook: Webhook;
}

const stored = () => api.sql<Stored[]>`
  select s.key, v.version, v.target->'webhook' as webhook from carillon.schedules s
  join carillon.schedule_versions v on v.schedule_id = s.id where v.target ? 'webhook' order by s.key, v.version`;

const keyIds = (rows: readonly Stored[]) => [
  ...new Set(rows.flatMap((row) => credentialsOf(row.webhook).map(({ value }) => readSealed(value)?.keyId))),
];

async function opened({ webhook: stored }: Stored) {
  const { url, headers, secret = [] } = await openedWebhook(api.sql, stored);
  return { url, headers, secret: secret[0] };
}

test("After a rotation a pass seals all versions with the new key, and they open to the same values", async () => {
  for (let n = 1; n <= 3; n += 1) await put("a", n);
  await put("b", 9);
  const { status, json } = await api.send("POST", keys);
  expect([status, json]).toMatchObject([201, { id: 2, current: true, madeBy: "adminer" }]);
  await put("c", 7);
  expect(keyIds(await stored())).toEqual([1, 2]);
  expect(await pass()).toEqual({ looked: 5, sealed: 12, unopened: [], removed: [] });
  const rows = await stored();
  expect(keyIds(rows)).toEqual([2]);
  expect(await Promise.all(rows.map(opened))).toEqual([1, 2, 3, 9, 7].map(webhook));
  // Values that were equal before are equal after: the history shows no change that was none.
  expect(new Set(rows.slice(0, 3).map((row) => row.webhook.headers["authorization"])).size).toBe(1);
});

test("An older key is deleted by a pass that finds nothing, ten minutes after the last credential was sealed again", async () => {
  await put("a", 1);
  await api.send("POST", keys);
  await pass();
  expect((await pass()).removed).toEqual([]);
  await api.clock.advance(11 * minute);
  expect(await pass()).toEqual({ looked: 1, sealed: 0, unopened: [], removed: [1] });
  expect(keyIds(await stored())).toEqual([2]);
  expect((await opened((await stored())[0] as Stored)).secret).toBe(secretOf(1));
});

test("A pass of many versions goes on at its cursor, and passes over targets without credentials", async () => {
  await put("a", 1);
  await api.sql`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, every_ms, first_at, body, target)
    select schedule_id, version + n, change, changed_at, changed_by, spec_version + n, held, every_ms, first_at, body,
      case when n % 2 = 0 then target else '{"queue": "q"}' end
    from carillon.schedule_versions, generate_series(1, 500) n`;
  await api.send("POST", keys);
  const first = (await api.send("POST", `${keys}/seal-again`)).json as SealedAgain;
  expect(first).toMatchObject({ looked: 200, sealed: 600, cursor: expect.any(String) });
  expect(await pass()).toMatchObject({ looked: 251, sealed: 153 });
  expect(keyIds(await stored())).toEqual([2]);
  // Equal values are opened once for each step.
  expect(sender.asked.length).toBeLessThan(8);
});

test("Credentials of before they were sealed are sealed by a pass, without a new key", async () => {
  await put("a", 1);
  await api.sql`
    update carillon.schedule_versions set target = ${JSON.stringify({ webhook: { method: "POST", ...webhook(4), secret: [secretOf(4)] } })}::text::jsonb`;
  const unchanged = await put("a", 4);
  expect(unchanged.json).toMatchObject({ version: 1 });
  expect(await pass()).toMatchObject({ sealed: 3 });
  const [row] = await stored();
  expect(JSON.stringify(row)).not.toContain(secretOf(4));
  expect(await opened(row as Stored)).toEqual(webhook(4));
});

test("A credential that no key opens is named and kept, and its key is not deleted", async () => {
  await put("a", 1);
  const lost = await secretVault("another deployment").makePair();
  await api.sql`update carillon.sealing_keys set sealed_private_key = ${Buffer.from(lost.sealedPrivateKey)}`;
  await api.sql.begin(async (tx) => addSealingKey(tx, await testVault.makePair(), "ann"));
  await api.clock.advance(11 * minute);
  const before = await stored();
  expect(await pass()).toMatchObject({ sealed: 0, unopened: [{ key: "a", version: 1 }], removed: [] });
  expect(await stored()).toEqual(before);
});

test("An edit during a pass wins, and the next pass seals it", async () => {
  await put("a", 1);
  await api.send("POST", keys);
  const [, edited] = await Promise.all([pass(), put("a", 2)]);
  expect(edited.status).toBe(200);
  await pass();
  const rows = await stored();
  expect(keyIds(rows)).toEqual([2]);
  expect(await Promise.all(rows.map(async (row) => (await opened(row)).secret))).toEqual([
    secretOf(1),
    secretOf(2),
  ]);
});

test("A pass leaves a version alone that another pass has sealed meanwhile with a newer key", async () => {
  await put("a", 1);
  await api.send("POST", keys);
  const sealAgain: typeof testVaultAccess.sealAgain = async (request) => {
    await api.send("POST", keys);
    await pass();
    return testVaultAccess.sealAgain(request);
  };
  await sealSomeAgain(api.sql, { ...testVaultAccess, sealAgain }, null);
  expect(keyIds(await stored())).toEqual([3]);
});

test("Answers about keys show no part of them, requests to the vault have no credential in clear, and other scopes are refused", async () => {
  await put("a", 1);
  await api.send("POST", keys);
  await pass();
  const { body } = await api.send("GET", keys);
  expect(JSON.parse(body)).toEqual({
    items: [2, 1].map((id) => ({
      id,
      madeAt: expect.any(String),
      madeBy: id === 1 ? "carillon" : "adminer",
      sealedAt: id === 1 ? null : expect.any(String),
      current: id === 2,
    })),
  });
  expect(sender.asked.join("\n")).not.toContain(secretOf(1));
  for (const scope of ["read", "write"] as const) {
    expect((await api.send("GET", keys, { as: scope })).status).toBe(403);
    expect((await api.send("POST", keys, { as: scope })).status).toBe(403);
    expect((await api.send("POST", `${keys}/seal-again`, { as: scope })).status).toBe(403);
  }
});
