import { afterAll, beforeAll, expect, test } from "vitest";
import { makeAnswerOnce } from "../../lib/api/request/idempotency.ts";
import { incomingFrom } from "../../lib/api/request/incoming.ts";
import { problemAnswer } from "../../lib/api/request/problem-answer.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { rememberedSql } from "../../lib/idempotency/remembered-sql.ts";
import { PassingConflict, Refusal } from "../../lib/refusal.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { httpEvent } from "./http-event.ts";

let database: TestDatabase;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  sql = rememberedSql(connect({ DATABASE_URL: database.url }));
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

const requestId = "00000000-0000-4000-8000-000000000001";
const token = { id: "00000000-0000-4000-8000-000000000002" };

/** Sends a request twice, with the next outcome each time. */
async function sendTwice(key: string, outcomes: readonly (Error | number)[]) {
  const headers = { authorization: "Bearer secret", "idempotency-key": key };
  const incoming = incomingFrom(httpEvent("POST", "/v1/schedules", { headers, body: {} }));
  const once = makeAnswerOnce(sql);
  const answers = [];
  for (const outcome of outcomes) {
    const answer = await once({ incoming, requestId, token, secret: "secret" }, async () => {
      if (outcome instanceof Error) throw outcome;
      return { statusCode: outcome, headers: {}, body: "" };
    }).catch((error: unknown) => problemAnswer(error, requestId));
    answers.push([answer.statusCode, answer.headers["retry-after"]]);
  }
  return answers;
}

test("A conflict that may pass is answered with a time to retry, and the answer is not stored", async () => {
  const passing = new PassingConflict("Schedules are being created and deleted by others at this moment.");
  expect(await sendTwice("passing", [passing, 201, 409])).toEqual([
    [409, "1"],
    [201, undefined],
    [201, undefined],
  ]);
});

test("The answer of a conflict with the current state is stored", async () => {
  const lasting = new Refusal("conflict", "It exists already.");
  expect(await sendTwice("lasting", [lasting, 201])).toEqual([
    [409, undefined],
    [409, undefined],
  ]);
});
