import { expect, onTestFinished, test } from "vitest";
import { assemble } from "../../functions/api.ts";
import type { MigrationEvent } from "../../functions/migrate.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { httpEvent, invocation } from "../api/http-event.ts";
import { apiEnvironment } from "./api-environment.ts";
import { create, migrationFunction, update } from "./migration-function.ts";

const own = migrationFunction();
const secrets = { first: "the-first-token" };

function counting(event: MigrationEvent, others: number, more: object = {}): MigrationEvent {
  if (event.RequestType === "Delete") return event;
  // CloudFormation sends numbers as text.
  const connections = { fastConcurrency: "2", slowConcurrency: "3", others: String(others), ...more };
  return { ...event, ResourceProperties: { ...event.ResourceProperties, connections } };
}

async function most(): Promise<number> {
  const [server] = await own.sql<{ max: number }[]>`select current_setting('max_connections')::int as max`;
  return server?.max ?? 0;
}

async function limitOfApi(): Promise<number | undefined> {
  const [role] = await own.sql<{ limit: number }[]>`
    select rolconnlimit as limit from pg_roles where rolname = 'carillon_api'`;
  return role?.limit;
}

/** A connection with the rights and the limit of this role. */
async function as(role: string): Promise<{ sql: Sql; url: string }> {
  await own.sql.unsafe(`alter role ${role} login password 'own'`);
  const url = Object.assign(new URL(own.databaseUrl), { username: role, password: "own" }).href;
  const sql = connect({ DATABASE_URL: url });
  onTestFinished(() => sql.end());
  return { sql, url };
}

test("The API may have the connections that workers and the others leave, and no limit behind a proxy", async () => {
  await own.invoke(counting(create("first"), 11), secrets);
  // Two for each fast worker, four for each slow one.
  expect(await limitOfApi()).toBe((await most()) - 2 * 2 - 3 * 4 - 11);
  await own.invoke(counting(update("first", "first"), (await most()) + 1), secrets);
  expect(await limitOfApi()).toBe(5);
  await own.invoke(update("first", "first"), secrets);
  expect(await limitOfApi()).toBe(-1);
});

test("The API may have no more connections than the database has memory for", async () => {
  await own.invoke(counting(create("first"), 11, { apiMost: "32" }), secrets);
  expect(await limitOfApi()).toBe(32);
});

test("Where requests have all connections of the API, the next one gets 503, and ticks get theirs", async () => {
  await own.invoke(counting(create("first"), (await most()) + 1), secrets);
  const { url } = await as("carillon_api");
  const apis = Array.from({ length: 6 }, () => assemble({ ...apiEnvironment, DATABASE_URL: url }));
  onTestFinished(async () => {
    for (const { close } of apis) await close();
  });
  const answers = [];
  const event = httpEvent("GET", "/v1/token", { headers: { authorization: `Bearer ${secrets.first}` } });
  for (const { handler } of apis) answers.push(await handler(event, invocation));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200, 503]);
  expect(answers.at(-1)?.headers["retry-after"]).toBe("2");
  expect(answers.at(-1)?.body).toContain("Too many requests use the database at the moment; try again.");
  const ticks = await as("carillon_tick");
  expect(await ticks.sql`select 1 as one`).toEqual([{ one: 1 }]);
});
