import { expect, test } from "vitest";
import { readVercel, type VercelParams } from "../../../lib/cli/formats/neighbours/vercel.ts";
import { bodyFaults, fileOf, withTold } from "./reading.ts";

function read(crons: unknown, params: Partial<VercelParams> = {}) {
  const baseUrl = "https://app.example.com";
  const { found } = readVercel([fileOf({ crons }, "vercel.json")], { target: undefined, baseUrl, ...params });
  return found;
}

test("A cron job of Vercel becomes a webhook to its path in UTC", () => {
  const found = withTold(read([{ path: "/api/cron/daily?full=1", schedule: "0 9 * * 1-5" }]));
  expect(found).toMatchObject({
    key: "api:cron:daily-full=1",
    from: "vercel.json crons[0]",
    body: {
      when: "0 9 * * 1-5",
      timezone: "UTC",
      target: { webhook: { url: "https://app.example.com/api/cron/daily?full=1" } },
    },
    faults: [],
  });
  expect(bodyFaults(found)).toEqual([]);
  for (const word of ["POST", "CRON_SECRET", "does not retry", "within the hour", "missed runs"])
    expect(found.told).toContain(word);
});

test("With a target, a cron job of Vercel sends its path there", () => {
  const found = withTold(read([{ path: "/", schedule: "0 9 * * *" }], { target: { queue: "jobs" } }));
  expect(found).toMatchObject({ key: "root", body: { target: { queue: "jobs" }, payload: { path: "/" } } });
  expect(found.told).not.toContain("POST");
});

test("A path of Vercel that occurs twice has two keys, and one without a path is impossible", () => {
  const found = read([
    { path: "/a", schedule: "0 9 * * *" },
    { path: "/a", schedule: "0 10 * * *" },
    { path: "/b", schedule: "0 9 * * *" },
    { path: "b", schedule: "0 9 * * *" },
  ]);
  expect(new Set(found.map(({ key }) => key)).size).toBe(4);
  expect(found[2]?.key).toBe("b");
  expect(found[3]?.faults.join()).toContain("path");
  expect(withTold(read("none")).fault).toContain("crons");
});
