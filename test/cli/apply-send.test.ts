import { describe, expect, test } from "vitest";
import type { Planned } from "../../lib/cli/apply/apply-plan.ts";
import { sendPlan } from "../../lib/cli/apply/apply-send.ts";
import { sideBySide } from "../../lib/cli/apply/apply-side-by-side.ts";
import { Output } from "../../lib/cli/output/output.ts";
import { timesIn } from "../../lib/cli/times.ts";
import { Carillon, CarillonProblem } from "../../lib/client/main.ts";

const signal = new AbortController().signal;

describe("requests in parallel", () => {
  test("Parallel requests return results in order, and wait where the API answers 429", async () => {
    const waits: number[] = [];
    const refused = new Set<number>();
    let open = 0;
    let most = 0;
    const items = Array.from({ length: 50 }, (_, at) => at);
    const call = { signal, pause: async (ms: number) => void waits.push(ms) };
    const done = await sideBySide(
      call,
      items,
      async (item) => {
        open += 1;
        most = Math.max(most, open);
        await new Promise((resolve) => setImmediate(resolve));
        open -= 1;
        if (item % 10 === 0 && !refused.has(item)) {
          refused.add(item);
          throw new CarillonProblem({ type: "x", title: "x", status: 429, detail: "x" }, 700);
        }
        return item * 2;
      },
      () => {},
    );
    expect(done).toEqual(items.map((item) => item * 2));
    expect(most).toBe(8);
    expect(waits).toEqual([700, 700, 700, 700, 700]);
  });

  test("Parallel requests stop at the first failure of another kind", async () => {
    const failing = sideBySide(
      { signal, pause: async () => {} },
      [1, 2, 3],
      async () => Promise.reject(new Error("away")),
      () => {},
    );
    await expect(failing).rejects.toThrow("away");
  });

  test("Parallel requests start no further one after a failure", async () => {
    const begun: number[] = [];
    const items = Array.from({ length: 100 }, (_, at) => at);
    const failing = sideBySide(
      { signal, pause: async () => {} },
      items,
      async (item) => {
        begun.push(item);
        if (item === 3) throw new Error("away");
        await new Promise((resolve) => setImmediate(resolve));
      },
      () => {},
    );
    await expect(failing).rejects.toThrow("away");
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun.length).toBeLessThan(20);
  });
});

test("An interrupted batch reports its finished operations and the cause", async () => {
  let [out, err] = ["", ""];
  const terminal = {
    write: (text: string) => {
      out += text;
    },
    note: (text: string) => {
      err += text;
    },
    isTty: false,
    width: undefined,
  };
  let calls = 0;
  const client = new Carillon({
    url: "https://carillon.example.com",
    token: "t",
    retries: 0,
    fetch: async (_, init) => {
      calls += 1;
      if (calls > 1) throw new TypeError("fetch failed");
      const { operations } = JSON.parse(String(init?.body));
      const results = operations.map(({ put: { key } }: { put: { key: string } }) => ({
        status: 201,
        key,
        id: "1",
        version: 1,
      }));
      return Response.json({ results });
    },
  });
  const planned = Array.from({ length: 1_200 }, (_, at): Planned => {
    const key = `k:${at}`;
    return {
      change: "create",
      key,
      from: "file",
      changes: [],
      cadenceText: null,
      timezone: null,
      next: [],
      differences: [],
      warnings: [],
      faults: [],
      movedTo: null,
      version: null,
      operation: { put: { key, when: "every 1h", target: { queue: "a" } }, ifNoneMatch: true },
    };
  });
  const call = {
    client,
    signal,
    out: new Output(terminal, { json: false, colours: false, times: timesIn("UTC", Date.now) }),
  };
  await expect(sendPlan(call, planned, { atomic: false })).rejects.toThrow("does not answer");
  expect(out).toBe("Created 1000, changed 0, removed 0.\n");
  expect(err).toContain("stopped after 1000 of 1200 operations");
});
