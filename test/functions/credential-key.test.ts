import { expect, test } from "vitest";
import type { MigrationEvent } from "../../functions/migrate.ts";
import { secretVault } from "../../lib/sealing/key-vault.ts";
import { vaultFunction } from "../sealing/vault-function.ts";
import { create, migrationFunction, update } from "./migration-function.ts";

const own = migrationFunction();

test("The first key for credentials is made once, and again where the database was restored beside another key of KMS", async () => {
  const made = async () => {
    const rows = await own.sql<{ id: number }[]>`select id from carillon.sealing_keys order by id`;
    return rows.map(({ id }) => id);
  };
  const deployed = async (vault: string, event: MigrationEvent) => {
    const { settings, stop } = await vaultFunction(secretVault(vault));
    await own.invoke(event, { first: "the-first-token" }, { sender: settings });
    await stop();
  };
  await deployed("here", create("first"));
  expect(await made()).toEqual([1]);
  await deployed("here", update("first", "first"));
  expect(await made()).toEqual([1]);
  await deployed("elsewhere", update("first", "first"));
  expect(await made()).toEqual([1, 2]);
});
