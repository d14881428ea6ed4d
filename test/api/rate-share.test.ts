import { expect, test } from "vitest";
import { makeRateLimit } from "../../lib/api/sign-in/rate-limit.ts";
import { parseRate } from "../../lib/job/rate.ts";
import type { Taken } from "../../lib/token/rate-buckets.ts";

const token = {
  id: "1",
  name: "t",
  scope: "read",
  prefix: null,
  team: null,
  expiresAt: null,
  isUseNoted: true,
  rates: [{ bucket: "1", rate: parseRate("100/s") }],
} as const;

test("A function's share of a rate lasts for a second", async () => {
  let now = 0;
  const open = { waitMs: 0, waitsFor: "token 1" };
  let taken: (upTo: number) => Taken = (upTo) => ({ ...open, units: upTo });
  const admit = makeRateLimit(
    { take: async (_buckets, { upTo }) => taken(upTo), giveBack: async () => {} },
    {
      clock: { now: () => new Date(now), sleep: async () => {} },
      rates: { ofToken: null, ofTeam: () => null },
    },
  );
  // The second request brings a share of two, of which one is left.
  await admit(token);
  await admit(token);
  now = 1_000;
  // In between, other functions use up the rate. Saved shares would exceed it.
  taken = () => ({ units: 0, waitMs: 500, waitsFor: "token 1" });
  await expect(admit(token)).rejects.toMatchObject({ kind: "too-many" });
});
