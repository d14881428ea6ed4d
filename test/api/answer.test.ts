import { expect, test } from "vitest";
import { toHttp } from "../../lib/api/request/answer.ts";
import { Refusal } from "../../lib/refusal.ts";

test("an answer that Lambda would not send is refused in words", () => {
  const items = (count: number) => ({
    status: 200,
    body: { items: Array.from({ length: count }, () => "x".repeat(50_000)) },
  });
  expect(toHttp(items(99)).statusCode).toBe(200);
  expect(() => toHttp(items(101))).toThrow(Refusal);
});

test("an answer is kept by no cache, and is taken for what it says it is", () => {
  // A proxy would hand a schedule's payload, or the secret of a new token, to the next caller that asks.
  for (const answer of [toHttp({ status: 200, body: {} }), toHttp({ status: 204 })])
    expect(answer.headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
});
