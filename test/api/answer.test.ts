import { expect, test } from "vitest";
import { toHttp } from "../../lib/api/request/answer.ts";
import { Refusal } from "../../lib/refusal.ts";

test("An answer that Lambda would not send is refused with a readable error", () => {
  const items = (count: number) => ({
    status: 200,
    body: { items: Array.from({ length: count }, () => "x".repeat(50_000)) },
  });
  expect(toHttp(items(99)).statusCode).toBe(200);
  expect(() => toHttp(items(101))).toThrow(Refusal);
});

test("An answer is not cached, and its content type is not guessed", () => {
  // A proxy would otherwise return a payload, or the secret of a new token, to another caller.
  for (const answer of [toHttp({ status: 200, body: {} }), toHttp({ status: 204 })])
    expect(answer.headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
});
