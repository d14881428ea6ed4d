import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnCli, ownCli } from "../cli/own-cli.ts";
import { testVault } from "../support/test-vault.ts";
import { vaultFunction } from "./vault-function.ts";

let cli: OwnCli;
let sender: Awaited<ReturnType<typeof vaultFunction>>;
beforeAll(async () => {
  sender = await vaultFunction(testVault);
  cli = await ownCli(sender.settings);
  const target = { webhook: { url: "https://example.com/in?token=abc", headers: { authorization: "abc" } } };
  await cli.api.send("PUT", "/v1/schedules/a", { body: { when: "every 1h", target } });
});
afterAll(async () => {
  await cli.stop();
  await sender.stop();
});

test("carillon credentials rotates the key after a confirmation, seals again, and lists the keys", async () => {
  expect(await cli.carillon(["credentials", "rotate"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("--yes"),
  });
  expect(await cli.carillon(["credentials", "rotate", "--yes"])).toEqual({
    code: 0,
    out: "Sealed again: 2 credentials, of 1 version with a webhook.\n",
    err: "Key 2 seals new credentials.\n",
  });
  expect(await cli.carillon(["credentials", "seal-again"])).toMatchObject({
    code: 0,
    out: "Sealed again: 0 credentials, of 1 version with a webhook.\n",
  });
  const { out } = await cli.carillon(["credentials", "ls"]);
  expect(out).toMatch(/^KEY .*\n2 \(seals\) .*\n1 /);
});

test("carillon credentials without a verb that it knows says which there are", async () => {
  expect(await cli.carillon(["credentials", "drop"])).toMatchObject({
    code: 2,
    err: expect.stringContaining("takes ls, rotate or seal-again"),
  });
});
