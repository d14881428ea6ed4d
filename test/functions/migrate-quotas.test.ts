import { expect, test } from "vitest";
import type { MigrationEvent } from "../../functions/migrate.ts";
import { create, migrationFunction, update } from "./migration-function.ts";

const own = migrationFunction();

const withQuotas = (event: MigrationEvent, ...quotas: string[]): MigrationEvent =>
  event.RequestType === "Delete"
    ? event
    : { ...event, ResourceProperties: { ...event.ResourceProperties, quotas } };

const limits = () => own.sql`
  select prefix, kind, most::int as most from carillon.quota_limits order by prefix, kind`;
const mark = async () => (await own.sql`select mark from carillon.team_list`)[0];

test("A deployment replaces the limits, and changes nothing where they are the same", async () => {
  const secrets = { first: "the-first-token" };
  await own.invoke(withQuotas(create("first"), "schedules=5", "billing:=holds=none"), secrets);
  expect(await limits()).toEqual([
    { prefix: "", kind: "schedules", most: 5 },
    { prefix: "billing:", kind: "holds", most: null },
  ]);
  expect(await own.sql`select prefix from carillon.teams`).toEqual([{ prefix: "billing:" }]);
  const before = await mark();
  await own.invoke(withQuotas(update("first", "first"), "billing:=holds=none", "schedules=5"), secrets);
  expect(await mark()).toEqual(before);
  await own.invoke(update("first", "first"), secrets);
  expect(await limits()).toEqual([]);
  expect(await mark()).not.toEqual(before);
});

test("A deployment replaces the weights of prefixes", async () => {
  const secrets = { first: "the-first-token" };
  const withWeights = (event: MigrationEvent, ...prefixWeights: string[]): MigrationEvent =>
    event.RequestType === "Delete"
      ? event
      : { ...event, ResourceProperties: { ...event.ResourceProperties, prefixWeights } };
  const weights = () => own.sql`select prefix, weight from carillon.teams order by prefix`;
  await own.invoke(withWeights(create("first"), "billing:=3", "mail:=2"), secrets);
  expect(await weights()).toEqual([
    { prefix: "billing:", weight: 3 },
    { prefix: "mail:", weight: 2 },
  ]);
  await own.invoke(withWeights(update("first", "first"), "mail:=5"), secrets);
  expect(await weights()).toEqual([
    { prefix: "billing:", weight: 1 },
    { prefix: "mail:", weight: 5 },
  ]);
});
