import { expect, test } from "vitest";
import { pgBoss } from "../../../lib/cli/formats/neighbours/pg-boss.ts";
import { bodyFaults, readAll, readOne } from "./reading.ts";

/** A row of the table `schedule` as JSON. */
function row(parts: object = {}) {
  return {
    name: "report",
    key: "",
    cron: "0  3 * * *",
    timezone: "UTC",
    data: { region: "us" },
    options: {},
    created_on: "2026-01-01T00:00:00+00:00",
    updated_on: "2026-01-01T00:00:00+00:00",
    ...parts,
  };
}

test("A row of pg-boss keeps its cron, zone, name, key and data", () => {
  const found = readOne(pgBoss, [row({ key: "us", timezone: "America/Chicago" })]);
  expect(found).toMatchObject({
    key: "report:us",
    body: {
      when: "0 3 * * *",
      timezone: "America/Chicago",
      target: { queue: "jobs" },
      payload: { name: "report", data: { region: "us" } },
    },
    faults: [],
  });
  expect(bodyFaults(found)).toEqual([]);
  for (const word of ["not to the queue of pg-boss", "every 30 s", "clock changes", "twice, at once"])
    expect(found.told).toContain(word);
  expect(readOne(pgBoss, row()).key).toBe("report");
  expect(readOne(pgBoss, row({ data: null })).body["payload"]).toEqual({ name: "report", data: null });
  expect(readOne(pgBoss, row({ cron: "H 3 * * *" })).told).toContain("`H`");
});

test.each([
  [{ retryLimit: 0 }, { attempts: 1 }],
  [{ retryLimit: 2 }, { attempts: 3, backoff: "fixed", base: "1ms" }],
  [
    { retryLimit: 3, retryDelay: 60 },
    { attempts: 4, backoff: "fixed", base: "60s" },
  ],
  [
    { retryLimit: 3, retryDelay: 7_200 },
    { attempts: 4, backoff: "fixed", base: "7200s", max: "7200s" },
  ],
  [
    { retryLimit: 3, retryBackoff: true },
    { attempts: 4, backoff: "exponential", base: "1s" },
  ],
  [
    { retryLimit: 3, retryBackoff: true, retryDelay: 5, retryDelayMax: 300 },
    { attempts: 4, backoff: "exponential", base: "5s", max: "300s" },
  ],
])("The retry options %j of pg-boss become %j", (options, retry) => {
  const found = readOne(pgBoss, row({ options }));
  expect(found.body["retry"]).toEqual(retry);
  expect(bodyFaults(found)).toEqual([]);
});

test("The differences of a row of pg-boss name its other options, without their values", () => {
  const { told } = readOne(pgBoss, row({ options: { tz: "UTC", priority: 5, deadLetter: "hunter2" } }));
  expect(told).toContain("its options priority, deadLetter are left out");
  expect(told).not.toContain("hunter2");
});

test("Rows of pg-boss are read as a list and one after the other, and a bad row names its field", () => {
  const text = `${JSON.stringify(row())}\n${JSON.stringify(row({ name: "b", cron: 5, timezone: null }))}\n`;
  const { found } = readAll(pgBoss, text);
  expect(found.map(({ from }) => from)).toEqual(["file.yaml [0]", "file.yaml [1]"]);
  expect(found[1]?.faults.join()).toContain("cron");
  expect(readOne(pgBoss, row({ timezone: null })).body["timezone"]).toBe("UTC");
  expect(
    readOne(pgBoss, `[${JSON.stringify(row()).replace("{}", '{"id":12345678901234567890}')}]`).fault,
  ).toContain("12345678901234567890");
});
