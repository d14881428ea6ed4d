import { expect, test } from "vitest";
import type { Environment } from "../../lib/config/environment.ts";
import { type Counted, countRoundTrips } from "../support/round-trips.ts";
import { ownApi } from "./own-api.ts";

const queue = { target: { queue: "demo" } };

/**
 * Requests in the order of sending, with the most round trips that each may need. One of them looks
 * up the token.
 */
const requests = [
  ["PUT", "/v1/schedules/soon", { when: "in 3s", ...queue }, 7],
  ["PUT", "/v1/schedules/handled", { when: "in 3s", target: { handler: "greet" } }, 8],
  ["PUT", "/v1/schedules/hourly", { when: "every 1h", ...queue }, 6],
  ["PUT", "/v1/schedules/daily", { when: "0 9 * * *", ...queue }, 8],
  ["GET", "/v1/schedules/hourly", undefined, 5],
  ["PATCH", "/v1/schedules/hourly", { payload: 1 }, 10],
  ["DELETE", "/v1/schedules/hourly", undefined, 10],
] as const;

test("A request needs no more round trips to the database than allowed", async () => {
  let counted: Counted | undefined;
  const api = await ownApi({}, "http", async (url) => {
    counted = await countRoundTrips(url);
    return counted.url;
  });
  await api.tick();
  try {
    const fewest = new Map<string, number>();
    // The first round opens the connection and prepares the statements. From time to time a request
    // also notes the use of its token.
    for (const round of [1, 2, 3]) {
      for (const [method, path, body] of requests) {
        counted?.taken();
        const { status } = await api.send(method, `${path}:${round}`, body === undefined ? {} : { body });
        expect(status).toBeLessThan(300);
        const taken = counted?.taken() ?? Number.NaN;
        const name = `${method} ${path}`;
        fewest.set(name, Math.min(taken, fewest.get(name) ?? taken));
      }
    }
    const tooMany = requests.flatMap(([method, path, , most]) => {
      const taken = fewest.get(`${method} ${path}`) ?? Number.NaN;
      return taken > 0 && taken <= most ? [] : [`${method} ${path} took ${taken} round trips, not ${most}`];
    });
    expect(tooMany).toEqual([]);
  } finally {
    await api.stop();
  }
});

/** The round trips of thirty reads and of one batch of 100, after a first of each. */
async function taken(settings: Environment): Promise<{ reads: number; batch: number }> {
  let counted: Counted | undefined;
  const api = await ownApi(settings, "http", async (url) => {
    counted = await countRoundTrips(url);
    return counted.url;
  });
  const read = async () => expect((await api.send("GET", "/v1/schedules/one")).status).toBe(404);
  const batch = async () => {
    const operations = Array.from({ length: 100 }, (_, n) => ({ delete: `none:${n}` }));
    const answer = await api.send("POST", "/v1/schedules:batch", { body: { operations } });
    expect(answer.status).toBe(200);
  };
  try {
    await read();
    await batch();
    counted?.taken();
    for (let n = 0; n < 30; n++) await read();
    const reads = counted?.taken() ?? Number.NaN;
    await batch();
    return { reads, batch: counted?.taken() ?? Number.NaN };
  } finally {
    await api.stop();
  }
}

test("A rate takes a round trip for a share of requests, and one more for work", async () => {
  const without = await taken({});
  const limited = await taken({ API_RATE: "10000/s" });
  // Shares of 2, 4, 8 and 16 after the first, and the work of the first batch took none of them.
  expect(limited.reads - without.reads).toBeLessThanOrEqual(5);
  expect(limited.batch - without.batch).toBeLessThanOrEqual(2);
});
