import { expect, test } from "vitest";
import { makeRateLimit } from "../../lib/api/sign-in/rate-limit.ts";
import { parseRate } from "../../lib/job/rate.ts";
import type { Allowance } from "../../lib/token/allowance.ts";

const token = {
  id: "1",
  name: "t",
  scope: "read",
  prefix: null,
  team: null,
  expiresAt: null,
  isUseNoted: true,
  rate: parseRate("100/s"),
} as const;

test("A function's share of a rate lasts for a second", async () => {
  let now = 0;
  let allowance: (wanted: number) => Allowance = (wanted) => ({ given: wanted });
  const admit = makeRateLimit(async (_token, _rate, wanted) => allowance(wanted), {
    clock: { now: () => new Date(now), sleep: async () => {} },
    byDefault: null,
  });
  // The second request brings a share of two, of which one is left.
  await admit(token);
  await admit(token);
  now = 1_000;
  // In between, other functions use up the rate. Saved shares would exceed it.
  allowance = () => ({ given: 0, waitMs: 500 });
  await expect(admit(token)).rejects.toMatchObject({ kind: "too-many" });
});
