import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log/log.ts";
import { RunningHandlers } from "../../lib/tools/local/handlers/running-handlers.ts";
import { httpEvent } from "../../lib/tools/local/lambda/http-event.ts";
import { prepareGiven } from "../../lib/tools/local/local-database.ts";
import { localFunctions } from "../../lib/tools/local/local-functions.ts";
import { readSettings } from "../../lib/tools/local/settings.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { type Watched, watchPreparedNames } from "../support/prepared-names.ts";
import { testVault } from "../support/test-vault.ts";

const token = "test-token";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/**
 * The functions as `npm start` makes them in this environment, after one request for a page of
 * schedules.
 */
async function askedOnce(env: Record<string, string>): Promise<Watched> {
  const watched = await watchPreparedNames(database.url);
  const nowhere = "http://127.0.0.1:1";
  const { databasePrepare, lifecycle } = readSettings(env);
  const databases = await prepareGiven(
    watched.url,
    { token, vault: testVault, quotas: [], prefixWeights: [] },
    silentLog,
  );
  // Tables that migrations change are queried without names, independently of the functions'
  // setting.
  expect([watched.names(), watched.prepared() > 0]).toEqual([[], true]);
  const functions = localFunctions({
    databases,
    databasePrepare,
    queueUrl: (name) => `${nowhere}/${name}`,
    sqsUrl: nowhere,
    eventsUrl: nowhere,
    lambdaUrl: nowhere,
    running: new RunningHandlers(),
    webhookAllow: undefined,
    webhookAdvice: undefined,
    eventSources: undefined,
    targetPrefixes: [],
    ingestPrefix: undefined,
    functionLog: "text",
    corsOrigins: undefined,
    lifecycle,
    clock: systemClock,
    log: silentLog,
  });
  onTestFinished(() => functions.api.close(0));
  const event = httpEvent({
    method: "GET",
    target: "/v1/schedules",
    httpVersion: "1.1",
    headers: { authorization: [`Bearer ${token}`] },
    body: Buffer.alloc(0),
    sourceIp: "127.0.0.1",
    receivedAt: systemClock.now(),
  });
  if (event === null) throw new Error("The request is none.");
  expect(await functions.api.invoke(event)).toMatchObject({ statusCode: 200 });
  return watched;
}

test.each([
  ["keep the plans of their statements by default", {}],
  ["keep the plans of their statements with DATABASE_PREPARE=on", { DATABASE_PREPARE: "on" }],
])("functions %s", async (_, env) => {
  expect((await askedOnce(env)).names()).not.toEqual([]);
});

test("functions prepare no statement by name with DATABASE_PREPARE=off, for a pooler that shares sessions", async () => {
  expect((await askedOnce({ DATABASE_PREPARE: "off" })).names()).toEqual([]);
});
