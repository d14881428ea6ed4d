import { expect, test } from "vitest";
import { toHttp } from "../../lib/api/answer.ts";
import { Refusal } from "../../lib/refusal.ts";

test("an answer that Lambda would not send is refused in words", () => {
  const items = (count: number) => ({
    status: 200,
    body: { items: Array.from({ length: count }, () => "x".repeat(50_000)) },
  });
  expect(toHttp(items(99)).statusCode).toBe(200);
  expect(() => toHttp(items(101))).toThrow(Refusal);
});
