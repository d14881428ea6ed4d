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
