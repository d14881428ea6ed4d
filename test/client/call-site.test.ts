import { expect, test } from "vitest";
import { Carillon, type Operation } from "../../lib/client/main.ts";

/** A client whose server answers each request with the next of these statuses, and then the last. */
function client(...statuses: number[]) {
  let sent = 0;
  return new Carillon({
    url: "https://api.example.com",
    token: "t",
    retries: 0,
    fetch: async () => {
      const status = statuses[Math.min(sent++, statuses.length - 1)] ?? 0;
      if (status === 0) throw new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") });
      const body = status === 200 ? { results: [{ status: 204, key: "a" }] } : { detail: "No." };
      return new Response(JSON.stringify(body), { status });
    },
  });
}

async function failed(call: () => Promise<unknown>): Promise<Error> {
  const error = await call().catch((caught: unknown) => caught);
  if (error instanceof Error) return error;
  throw new Error("The call did not fail.");
}

const many: Operation[] = Array.from({ length: 1_001 }, (_, n) => ({ delete: `a:${n}` }));

async function firstOf(list: AsyncIterable<unknown>) {
  for await (const item of list) return item;
  return undefined;
}

const calls: readonly [error: string, call: () => Promise<unknown>][] = [
  ["CarillonProblem", () => client(422).schedules.put("a", { when: "x", target: { queue: "q" } })],
  ["CarillonProblem", () => client(404).problems()],
  ["CarillonProblem", () => firstOf(client(401).schedules.list())],
  ["CarillonUnreachable", () => client(0).schedules.get("a")],
  ["CarillonInputError", () => client(200).schedules.get("")],
  ["BatchInterrupted", () => client(200, 422).batch(many)],
  ["RangeError", () => client(200).batch(many, { atomic: true })],
];

test.each(calls)("The stack of a %s begins at the caller's own line (case %$)", async (name, call) => {
  const { stack = "", name: named, message } = await failed(call);
  expect(named).toBe(name);
  const [first, ...frames] = stack.split("\n");
  expect(first).toBe(`${name}: ${message}`);
  expect(frames[0]).toContain("call-site.test.ts");
  expect(stack).not.toMatch(/lib.client.(request|batch|schedules)/);
});

test("An error without an answer keeps its cause", async () => {
  const { cause } = await failed(() => client(0).schedules.get("a"));
  expect(cause).toMatchObject({ message: "fetch failed", cause: { message: "ECONNREFUSED" } });
});
