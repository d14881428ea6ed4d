import { expect, test } from "vitest";
import { type Counted, countRoundTrips } from "../support/round-trips.ts";
import { ownApi } from "./own-api.ts";

const queue = { target: { queue: "demo" } };

/** In the order in which they are sent, each with the most that it may take, the look at the token among them. */
const requests = [
  ["PUT", "/v1/schedules/soon", { when: "in 3s", ...queue }, 7],
  ["PUT", "/v1/schedules/handled", { when: "in 3s", target: { handler: "greet" } }, 8],
  ["PUT", "/v1/schedules/hourly", { when: "every 1h", ...queue }, 6],
  ["PUT", "/v1/schedules/daily", { when: "0 9 * * *", ...queue }, 8],
  ["GET", "/v1/schedules/hourly", undefined, 5],
  ["PATCH", "/v1/schedules/hourly", { payload: 1 }, 10],
  ["DELETE", "/v1/schedules/hourly", undefined, 10],
] as const;

test("a request waits for the database no more often than it must", async () => {
  let counted: Counted | undefined;
  const api = await ownApi({}, "http", async (url) => {
    counted = await countRoundTrips(url);
    return counted.url;
  });
  await api.tick();
  try {
    // What comes first has its connection to open and its statements to prepare.
    for (const round of [1, 2, 3]) {
      const seen: unknown[] = [];
      for (const [method, path, body, most] of requests) {
        counted?.taken();
        const { status } = await api.send(method, `${path}:${round}`, body === undefined ? {} : { body });
        expect(status).toBeLessThan(300);
        const taken = counted?.taken() ?? Number.NaN;
        if (!(taken <= most)) seen.push(`${method} ${path} took ${taken} round trips, not ${most}`);
      }
      if (round === 3) expect(seen).toEqual([]);
    }
  } finally {
    await api.stop();
  }
});
