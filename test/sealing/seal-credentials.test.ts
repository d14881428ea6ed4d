import { expect, test } from "vitest";
import { Refusal } from "../../lib/refusal.ts";
import { isSealed } from "../../lib/schedule/shape/sealed-text.ts";
import type { Target } from "../../lib/schedule/shape/target-shape.ts";
import { targetShape } from "../../lib/schedule/shape/target-shape.ts";
import { secretVault } from "../../lib/sealing/key-vault.ts";
import { OpenedKeys, openCredentials } from "../../lib/sealing/open-credentials.ts";
import { sealCredentials } from "../../lib/sealing/seal-credentials.ts";
import type { SealingKey } from "../../lib/sealing/sealing-keys.ts";

const vault = secretVault("one");
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const long = "Bearer 0123456789abcdef0123456789";

async function ownKey(id = 1, from = vault) {
  const { publicKey, sealedPrivateKey } = await from.makePair();
  const key: SealingKey = { id, publicKey: Buffer.from(publicKey), printKey: Buffer.alloc(32, id) };
  return { key, keys: { [String(id)]: Buffer.from(sealedPrivateKey).toString("base64") } };
}

function hook(parts: object = {}): Target {
  return targetShape.parse({
    webhook: {
      url: "https://example.com/in?token=a%20b&n=1",
      headers: { Authorization: long, "x-note": "shown", "x-acme": "hidden" },
      secret,
      secretHeaders: ["X-Acme"],
      ...parts,
    },
  });
}

function webhookOf(target: Target) {
  if (!("webhook" in target)) throw new Error("The target is not a webhook.");
  return target.webhook;
}

const seal = (target: Target, standing: Target | null, ...keys: SealingKey[]) =>
  sealCredentials("a", target, standing, { sealingKeys: async () => keys });

function open(target: Target, keys: Record<string, string>, by = vault) {
  const { url, method, headers, secret: secrets = [] } = webhookOf(target);
  const request = { id: "1", body: "{}", timeoutMs: 1_000, url, method, headers, secrets, keys };
  return openCredentials(new OpenedKeys(by), request);
}

test("Secrets, headers and parameters of the URL are sealed, and the function that sends opens them as they were", async () => {
  const { key, keys } = await ownKey();
  const sealed = await seal(hook(), null, key);
  const text = JSON.stringify(sealed);
  for (const value of [secret, long, "0123456789abcdef", "a%20b", "a b", "hidden"])
    expect(text).not.toContain(value);
  expect(webhookOf(sealed).headers["x-note"]).toBe("shown");
  expect(webhookOf(sealed).url).toMatch(/^https:\/\/example\.com\/in\?token=sealed:[\w:-]+&n=1$/);
  const { url, headers, secrets } = await open(sealed, keys);
  expect({ url, headers, secret: secrets }).toEqual({
    url: "https://example.com/in?token=a%20b&n=1",
    headers: { Authorization: long, "x-note": "shown", "x-acme": "hidden" },
    secret: [secret],
  });
});

test("An equal value keeps its sealed text, also under an older key; another value gets another text", async () => {
  const [first, second] = [await ownKey(1), await ownKey(2)];
  const standing = await seal(hook(), null, first.key);
  const again = await seal(hook(), standing, second.key, first.key);
  expect(webhookOf(again).secret).toEqual(webhookOf(standing).secret);
  expect(webhookOf(again).headers["Authorization"]).toBe(webhookOf(standing).headers["Authorization"]);
  const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
  const changed = await seal(hook({ secret: other }), standing, second.key, first.key);
  expect(webhookOf(changed).secret?.[0]).toMatch(/^sealed:2:/);
});

test("A short value and a password have no hash by which a copy of the database would let them be guessed", async () => {
  const { key } = await ownKey();
  const headers = {
    "x-token": "hunter2",
    authorization: `Basic ${"QWxhZGRpbjpvcGVuIHNlc2FtZQ".repeat(2)}`,
    "x-key": long,
  };
  const sealed = await seal(hook({ headers, secretHeaders: undefined }), null, key);
  expect(webhookOf(sealed).headers).toEqual({
    "x-token": expect.stringMatching(/^sealed:1:-:/),
    authorization: expect.stringMatching(/^sealed:1:-:/),
    "x-key": expect.stringMatching(/^sealed:1:[\w-]{16}:/),
  });
  const again = await seal(hook({ headers, secretHeaders: undefined }), sealed, key);
  expect(webhookOf(again).headers["x-token"]).not.toBe(webhookOf(sealed).headers["x-token"]);
});

test("A sealed credential opens for its own host and its own place only, and not when it was changed", async () => {
  const { key, keys } = await ownKey();
  const { headers, secret: secrets = [], method } = webhookOf(await seal(hook(), null, key));
  const authorization = headers["Authorization"] ?? "";
  const at = (url: string, given: Record<string, string>, by: readonly string[] = []) =>
    open({ webhook: { url, method, headers: given, secret: [...by] } }, keys);
  await expect(at("https://example.com/elsewhere", { authorization })).resolves.toMatchObject({
    headers: { authorization: long },
  });
  const refused = "it was sealed for another host, or changed";
  await expect(at("https://evil.example/in", { authorization })).rejects.toThrow(refused);
  await expect(at("https://example.com:8443/in", { authorization })).rejects.toThrow(refused);
  await expect(at("http://example.com/in", { authorization })).rejects.toThrow(refused);
  await expect(at("https://example.com/in", { "x-echo": authorization })).rejects.toThrow(refused);
  await expect(at("https://example.com/in", { "x-echo": secrets[0] ?? "" })).rejects.toThrow(refused);
  const changed = authorization.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
  await expect(at("https://example.com/in", { authorization: changed })).rejects.toThrow(refused);
});

test("A private key opens in the vault that made it only, and a credential without its key is named", async () => {
  const { key, keys } = await ownKey();
  const sealed = await seal(hook(), null, key);
  await expect(open(sealed, keys, secretVault("another"))).rejects.toThrow(
    "Key 1 of the credentials could not be opened",
  );
  await expect(open(sealed, {})).rejects.toThrow("sealed with key 1, which is not stored any more");
});

test("A target without credentials reads no key, and one with credentials is refused where there is none", async () => {
  const plain = targetShape.parse({ webhook: { url: "https://example.com/?a=1", headers: { "x-a": "b" } } });
  const unread = {
    sealingKeys: async () => {
      throw new Error("The keys were read.");
    },
  };
  expect(await sealCredentials("a", plain, null, unread)).toBe(plain);
  expect(await sealCredentials("a", { handler: "report" }, null, unread)).toEqual({ handler: "report" });
  await expect(seal(hook(), null)).rejects.toThrow(Refusal);
});

test("Texts of callers never begin like a sealed value", () => {
  const sealed = "sealed:1:-:AAAA";
  expect(isSealed(sealed)).toBe(true);
  for (const parts of [
    { headers: { "x-note": sealed }, secretHeaders: undefined },
    { url: `https://example.com/?n=${sealed}` },
    { secret: sealed },
  ])
    expect(targetShape.safeParse({ webhook: { url: "https://example.com/", ...parts } }).success).toBe(false);
});
