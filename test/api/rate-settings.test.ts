import { expect, test } from "vitest";
import { deploymentRatesFrom } from "../../lib/api/sign-in/rate-limit.ts";
import { parseRate } from "../../lib/job/rate.ts";

test("API_RATE is read, and an invalid one is refused", () => {
  expect(deploymentRatesFrom({}).ofToken).toBeNull();
  expect(deploymentRatesFrom({ API_RATE: "100/s" }).ofToken).toEqual({ count: 100, perMs: 1_000 });
  expect(() => deploymentRatesFrom({ API_RATE: "100" })).toThrow("API_RATE");
});

test("API_RATE_PER_PREFIX gives each prefix one rate, and refuses what it cannot read", () => {
  const { ofTeam } = deploymentRatesFrom({ API_RATE_PER_PREFIX: "a=b,:=2/s\n1/m" });
  expect([ofTeam("a=b,:"), ofTeam("a=b,:x")]).toEqual([parseRate("2/s"), parseRate("1/m")]);
  expect(deploymentRatesFrom({ API_RATE_PER_PREFIX: "a:=2/s" }).ofTeam("b:")).toBeNull();
  for (const wrong of ["1", "=1/s", "a:=", "a/b=1/s", "1/s\n2/s", "a:=1/s\na:=2/s", "a:=0/s"])
    expect(() => deploymentRatesFrom({ API_RATE_PER_PREFIX: wrong })).toThrow("API_RATE_PER_PREFIX");
});
