import { describe, expect, test } from "vitest";
import { BatchInterrupted, Carillon, isConflict, type Operation } from "../../lib/client/main.ts";

interface Call {
  operations: { delete: string }[];
  atomic?: boolean;
}

/** A server that answers each operation with its key, and fails at the call with this number. */
function setup(failing = Number.POSITIVE_INFINITY) {
  const calls: Call[] = [];
  const keys: (string | null)[] = [];
  const carillon = new Carillon({
    url: "https://api.example.com",
    token: "t",
    fetch: async (_, init) => {
      const call: Call = JSON.parse(String(init?.body));
      calls.push(call);
      keys.push(new Headers(init?.headers).get("idempotency-key"));
      if (calls.length === failing) return new Response('{"detail":"No."}', { status: 409 });
      const results = call.operations.map(({ delete: key }) => ({ status: 204, key }));
      return new Response(JSON.stringify({ results }));
    },
  });
  return { carillon, calls, keys };
}

const deletes = (count: number): Operation[] =>
  Array.from({ length: count }, (_, index) => ({ delete: `k${index}` }));

describe("a batch of the client", () => {
  test("A batch of more than a thousand operations is sent in several calls, with results in order", async () => {
    const { carillon, calls, keys } = setup();
    const progress: number[] = [];
    const results = await carillon.batch(deletes(2_500), { onProgress: (done) => progress.push(done) });
    expect(calls.map(({ operations }) => operations.length)).toEqual([1_000, 1_000, 500]);
    expect(results.map(({ key }) => key)).toEqual(deletes(2_500).map((_, index) => `k${index}`));
    expect(progress).toEqual([1_000, 2_000, 2_500]);
    expect(new Set(keys).size).toBe(3);
  });

  test("Each call of a batch has a key derived from the caller's", async () => {
    const { carillon, keys } = setup();
    await carillon.batch(deletes(1_001), { idempotencyKey: "mine" });
    expect(keys).toEqual(["mine", "mine.1"]);
  });

  test("A batch is split where its bytes exceed a body's limit", async () => {
    const { carillon, calls } = setup();
    const large: Operation[] = Array.from({ length: 30 }, (_, index) => ({
      put: { key: `k${index}`, when: "in 3h", target: { queue: "q" }, payload: "x".repeat(200_000) },
    }));
    await carillon.batch(large);
    expect(calls.map(({ operations }) => operations.length)).toEqual([22, 8]);
  });

  test("An atomic batch is sent as one call or refused", async () => {
    const { carillon, calls } = setup();
    await carillon.batch(deletes(1_000), { atomic: true });
    expect(calls[0]?.atomic).toBe(true);
    await expect(carillon.batch(deletes(1_001), { atomic: true })).rejects.toThrow(RangeError);
    expect(calls).toHaveLength(1);
  });

  test("An interrupted batch reports its finished operations", async () => {
    const { carillon } = setup(2);
    const error = await carillon.batch(deletes(2_500)).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(BatchInterrupted);
    expect(error).toMatchObject({
      results: { length: 1_000 },
      message: expect.stringContaining("1000 of 2500"),
    });
    expect(error instanceof Error && isConflict(error.cause)).toBe(true);
  });

  test("An empty batch sends nothing", async () => {
    const { carillon, calls } = setup();
    expect(await carillon.batch([])).toEqual([]);
    expect(calls).toEqual([]);
  });
});
