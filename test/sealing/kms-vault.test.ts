import { afterEach, beforeEach, expect, test } from "vitest";
import { assemble } from "../../functions/webhook.ts";
import { openWith, sealFor } from "../../lib/sealing/hpke.ts";
import { secretVault } from "../../lib/sealing/key-vault.ts";
import { kmsVault } from "../../lib/sealing/kms-vault.ts";
import { invocation } from "../api/http-event.ts";
import { ownKms } from "./own-kms.ts";

let kms: Awaited<ReturnType<typeof ownKms>>;
beforeEach(async () => {
  kms = await ownKms();
});
afterEach(() => kms.stop());

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

test("KMS makes a pair whose private key opens what its public key seals", async () => {
  const vault = kmsVault(kms.client, "key-1");
  const { publicKey, sealedPrivateKey } = await vault.makePair();
  const sealed = await sealFor(publicKey, "a secret", "context");
  expect(await openWith(await vault.open(sealedPrivateKey), sealed, "context")).toBe("a secret");
  expect(kms.operations).toEqual([
    "TrentService.GenerateDataKeyPairWithoutPlaintext",
    "TrentService.Decrypt",
  ]);
});

test("A private key of another vault does not open, and a KMS that does not answer is no other vault", async () => {
  const vault = kmsVault(kms.client, "key-1");
  const { sealedPrivateKey } = await vault.makePair();
  const foreign = (await secretVault("local").makePair()).sealedPrivateKey;
  expect([await vault.opens(sealedPrivateKey), await vault.opens(foreign)]).toEqual([true, false]);
  for (const type of ["NotFoundException", "AccessDeniedException", "KMSInvalidStateException"]) {
    kms.fail(type);
    expect(await vault.opens(sealedPrivateKey)).toBe(false);
  }
  for (const type of ["ThrottlingException", "KMSInternalException", "DependencyTimeoutException"]) {
    kms.fail(type);
    await expect(vault.opens(sealedPrivateKey)).rejects.toThrow();
  }
});

test("The function asks KMS once for each key, and again after a failure", async () => {
  const env = {
    AWS_REGION: "eu-central-1",
    AWS_ENDPOINT_URL_KMS: kms.url,
    AWS_ACCESS_KEY_ID: "own",
    AWS_SECRET_ACCESS_KEY: "own",
    WEBHOOK_KEY: "key-1",
    CARILLON_LOG: "silent",
  };
  const sender = assemble(env);
  const made = await sender.handler({ ask: "pair" }, invocation);
  if (!("publicKey" in made)) throw new Error("No pair was made.");
  const origin = "https://sealed.invalid";
  const sealed = await sealFor(
    Buffer.from(made.publicKey, "base64"),
    "Bearer x",
    `header\nauthorization\n${origin}`,
  );
  const send = () =>
    sender.handler(
      {
        id: "1",
        url: `${origin}/in`,
        method: "POST",
        headers: { authorization: `sealed:1:-:${sealed}` },
        body: "{}",
        secrets: [],
        timeoutMs: 1_000,
        keys: { "1": made.sealedPrivateKey },
      },
      invocation,
    );
  kms.fail("AccessDeniedException");
  expect(await send()).toMatchObject({
    kind: "failed",
    error: expect.stringContaining("Key 1 of the credentials could not be opened"),
  });
  kms.fail(null);
  for (let n = 0; n < 3; n += 1)
    expect(await send()).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("has no address in DNS"),
    });
  expect(kms.operations.filter((operation) => operation === "TrentService.Decrypt")).toHaveLength(2);
  await sender.close();
});

test("The function tells no private key in clear, whatever it is asked", async () => {
  const vault = secretVault("one");
  const sender = assemble({ AWS_REGION: "eu-central-1", CARILLON_LOG: "silent" }, { vault });
  const { publicKey, sealedPrivateKey } = await vault.makePair();
  const privateKey = await crypto.subtle.exportKey("pkcs8", await vault.open(sealedPrivateKey));
  const stored = `sealed:1:-:${await sealFor(publicKey, "a secret", "secret\n\nhttps://example.com")}`;
  const answers = [
    await sender.handler({ ask: "opens", sealedPrivateKey: base64(sealedPrivateKey) }, invocation),
    await sender.handler(
      {
        ask: "seal again",
        keys: { "1": base64(sealedPrivateKey) },
        to: { id: 2, sealedPrivateKey: base64(sealedPrivateKey), printKey: base64(Buffer.alloc(32)) },
        credentials: [{ kind: "secret", name: "", url: "https://example.com/", stored }],
      },
      invocation,
    ),
  ];
  expect(answers[0]).toEqual({ opens: true });
  expect(answers[1]).toEqual({ sealed: [expect.stringMatching(/^sealed:2:[\w-]{16}:/)] });
  expect(JSON.stringify(answers)).not.toContain(Buffer.from(privateKey).toString("base64").slice(40, 80));
  expect(JSON.stringify(answers)).not.toContain("a secret");
  // A key that the vault has not made seals nothing: a caller cannot have credentials sealed for itself.
  const own = (await secretVault("an attacker's").makePair()).sealedPrivateKey;
  const request = {
    ask: "seal again" as const,
    keys: { "1": base64(sealedPrivateKey) },
    to: { id: 2, sealedPrivateKey: base64(own), printKey: base64(Buffer.alloc(32)) },
    credentials: [{ kind: "secret" as const, name: "", url: "https://example.com/", stored }],
  };
  await expect(sender.handler(request, invocation)).rejects.toThrow();
});
