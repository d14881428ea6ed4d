import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { temporal } from "../../../lib/cli/formats/neighbours/temporal.ts";
import { bodyFaults, comingOf, readAll, readOne } from "./reading.ts";

const all = {
  second: [{}],
  minute: [{}],
  hour: [{ start: 9 }],
  dayOfMonth: [{ start: 1, end: 31, step: 1 }],
  month: [{ start: 1, end: 12, step: 1 }],
  dayOfWeek: [{ start: 0, end: 6, step: 1 }],
};

/** A schedule as `temporal schedule describe -o json` prints it, in short. */
function described(spec: object = {}, schedule: object = {}) {
  return {
    scheduleId: "report",
    schedule: {
      spec: { structuredCalendar: [all], ...spec },
      action: {
        startWorkflow: {
          workflowId: "report-run",
          workflowType: { name: "Report" },
          taskQueue: { name: "reports", kind: "TASK_QUEUE_KIND_NORMAL" },
          input: [{ n: 1 }],
        },
      },
      policies: { overlapPolicy: "SCHEDULE_OVERLAP_POLICY_SKIP", catchupWindow: "31536000s" },
      state: {},
      ...schedule,
    },
    info: { actionCount: "12", createTime: "2026-01-01T00:00:00Z" },
  };
}

const one = (...parts: Parameters<typeof described>) => readOne(temporal, described(...parts));
const ofSpec = (spec: object) => one({ structuredCalendar: [], ...spec });

describe("a schedule of Temporal", () => {
  test("A schedule keeps its id, times, workflow, overlap and catch-up", () => {
    const found = one();
    expect(found).toMatchObject({
      key: "report",
      body: {
        when: "0 9 * * *",
        timezone: "UTC",
        target: { queue: "jobs" },
        payload: {
          workflowType: "Report",
          workflowId: "report-run",
          taskQueue: "reports",
          input: [{ n: 1 }],
        },
        overlap: "skip",
        catchUp: { policy: "all", within: "31536000s", limit: 10_000 },
      },
      faults: [],
    });
    expect(found.body).not.toHaveProperty("paused");
    expect(bodyFaults(found)).toEqual([]);
    for (const word of ["starts no workflow", "starts it once", "catchupWindow", "until it is delivered"])
      expect(found.told).toContain(word);
  });

  test("The state of a schedule becomes a pause, a description and a limit of fires", () => {
    const state = { notes: "Paused by Ann", paused: true, limitedActions: true, remainingActions: "3" };
    const found = one({}, { state });
    expect(found.body).toMatchObject({ paused: true, description: "Paused by Ann", maxFires: 3 });
    expect(found.told).toContain("3 actions left");
    expect(bodyFaults(found)).toEqual([]);
    expect(one({}, { state: { limitedActions: true } }).fault).toContain("no actions left");
  });

  test.each([
    ["SCHEDULE_OVERLAP_POLICY_SKIP", "skip", "skips a run"],
    ["Skip", "skip", "skips a run"],
    [undefined, "skip", "skips a run"],
    ["SCHEDULE_OVERLAP_POLICY_BUFFER_ONE", "queue", "lets one run wait"],
    ["BufferAll", "queue", "in order"],
    [4, "skip", "ends no job for another"],
    ["TerminateOther", "skip", "ends no job for another"],
    ["SCHEDULE_OVERLAP_POLICY_ALLOW_ALL", "allow", ""],
  ])("The overlap policy %s of a schedule becomes the overlap %s", (overlapPolicy, overlap, told) => {
    const found = one({}, { policies: { overlapPolicy } });
    expect(found.body["overlap"]).toBe(overlap);
    expect(found.told).toContain(told);
  });

  test("The other policies of a schedule become catch-up and a hold after a failure", () => {
    const found = one({}, { policies: { catchupWindow: "60s", pauseOnFailure: true } });
    expect(found.body).toMatchObject({ catchUp: { policy: "all", within: "60s" }, holdAfter: 1 });
    expect(found.told).toContain("pauseOnFailure");
    expect(one({}, { policies: { overlapPolicy: "Never" } }).fault).toContain('"Never"');
    expect(bodyFaults(one({}, { policies: { catchupWindow: "315360000s" } }))).toEqual([]);
  });

  test("The input of a workflow is read in short and as payloads, and only as JSON", () => {
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const withInput = (input: unknown) =>
      one({}, { action: { startWorkflow: { workflowType: { name: "A" }, input } } });
    const payload = (encoding: string, data: string) => ({
      metadata: { encoding: base64(encoding) },
      data: base64(data),
    });
    const payloads = [payload("json/plain", '{"n":1}'), payload("binary/null", "")];
    expect(withInput({ payloads }).body["payload"]).toMatchObject({ input: [{ n: 1 }, null] });
    expect(withInput(undefined).body["payload"]).toMatchObject({ input: [] });
    expect(withInput({ payloads: [payload("binary/encrypted", "x")] }).fault).toContain("not JSON");
    expect(withInput({ payloads: [payload("json/plain", "{")] }).fault).toContain("not JSON");
    expect(one({}, { action: {} }).fault).toContain("no workflow");
  });

  test("A schedule without its id gets that of its workflow, and one of a list is impossible", () => {
    const { scheduleId: _, ...nameless } = described();
    const found = readOne(temporal, nameless);
    expect(found.key).toBe("report-run");
    expect(found.told).toContain("describe prints no schedule id");
    const listed = [{ scheduleId: "a", info: { spec: {}, workflowType: { name: "A" } } }];
    expect(readOne(temporal, listed)).toMatchObject({
      key: "a",
      fault: expect.stringContaining("temporal schedule describe --schedule-id a -o json"),
    });
    const several = `${JSON.stringify(described())}\n${JSON.stringify(nameless)}`;
    expect(readAll(temporal, several).found).toHaveLength(2);
  });
});

describe("the times of a schedule of Temporal", () => {
  const days = (dayOfMonth: object[], dayOfWeek: object[]) => ({
    structuredCalendar: [{ ...all, dayOfMonth, dayOfWeek }],
  });

  test("Both day fields of a calendar have to match", () => {
    const found = one(days([{ start: 1, end: 7 }], [{ start: 1 }]));
    expect(found.body["when"]).toBe("0 9 1-7 * 1&");
    expect(comingOf(found, "2026-01-01T00:00:00Z", 2)).toEqual([
      "2026-01-05T09:00:00.000Z",
      "2026-02-02T09:00:00.000Z",
    ]);
  });

  test.each([
    [{ cronString: ["0 9 * * mon-fri"] }, "0 9 * * 1-5"],
    [{ cronString: ["15 0 9 * * * *"] }, "15 0 9 * * *"],
    [{ cronString: ["0 9 13 * 5 # unlucky"] }, "0 9 13 * 5&"],
    [{ cronString: ["@hourly"] }, "0 * * * *"],
    [{ cronString: ["0 9 * * 1/2"] }, "0 9 * * 1-7/2"],
    [{ cronString: ["0 9 * * mon 2030"] }, "cron(0 9 ? * 2 2030)"],
    [{ cronString: ["0 9 1 1 * 2030-2032"] }, "cron(0 9 1 1 ? 2030-2032)"],
    [{ cronString: ["@every 1h/15m"] }, "every 3600s"],
    [{ calendar: [{ hour: "8-17/3", month: "janu,sept", dayOfWeek: "Tu" }] }, "0 8-17/3 * 1,9 2"],
    [{ interval: [{ interval: "5400s" }] }, "every 5400s"],
    [{ calendar: [{ hour: "1" }, { hour: "2" }] }, ["0 1 * * *", "0 2 * * *"]],
  ])("The spec %j has the times %j", (spec, when) => {
    const found = ofSpec(spec);
    expect(found.body["when"]).toEqual(when);
    expect(bodyFaults(found)).toEqual([]);
  });

  test.each([
    [{}, "no times"],
    [{ cronString: ["0 9 1 1 mon 2030"] }, "split it"],
    [{ cronString: ["0 9 * *"] }, "five to seven fields"],
    [{ cronString: ["@every soon"] }, "is not understood"],
    [{ cronString: ["@daily"], excludeStructuredCalendar: [all] }, "leaves out times"],
    [{ cronString: ["@daily"], timezoneData: "AAAA" }, "timezoneData"],
    [{ cronString: ["TZ=UTC @daily", "TZ=Asia/Tokyo @daily"] }, "several zones"],
    [{ cronString: ["@daily"], timezoneName: "Mars" }, '"Mars"'],
    [{ interval: [{ interval: "60s" }, { interval: "60s", phase: "1s" }] }, "do not share an instant"],
    [
      { interval: [{ interval: "3600s" }], cronString: ["@daily"], startTime: "2026-01-01T00:30:00Z" },
      "do not share an instant",
    ],
  ])("The spec %j is impossible: %s", (spec, why) => {
    expect(ofSpec(spec).fault).toContain(why);
  });

  test("Intervals count from 1970 and their phase, as in Temporal", () => {
    const found = ofSpec({ interval: [{ interval: "5400s", phase: "600s" }] });
    expect(found.told).toContain("counts as in Temporal");
    const [first = ""] = comingOf(found, "2026-01-01T00:00:00Z", 1);
    expect((Date.parse(first) / 1_000 - 600) % 5_400).toBe(0);
    expect(Date.parse(first)).toBeLessThanOrEqual(Date.parse("2026-01-01T01:30:00Z"));
    const two = ofSpec({ interval: [{ interval: "3600s", phase: "600s" }, { interval: "1800s" }] });
    expect(two.fault).toContain("do not share");
    const meeting = ofSpec({ interval: [{ interval: "3600s", phase: "1800s" }, { interval: "5400s" }] });
    expect(meeting.body["startsAt"]).toBe("1970-01-01T01:30:00.000Z");
  });

  test("A window keeps its start and its last instant, and an interval within it its phase", () => {
    const found = one({ startTime: "2026-01-01T00:00:00Z", endTime: "2027-01-01T09:00:00Z" });
    expect(found.body).toMatchObject({
      startsAt: "2026-01-01T00:00:00.000Z",
      endsAt: "2027-01-01T09:00:00.001Z",
    });
    const interval = ofSpec({ interval: [{ interval: "3600s" }], startTime: "2026-01-01T00:30:00Z" });
    expect(interval.body["startsAt"]).toBe("2026-01-01T01:00:00.000Z");
  });

  test("A jitter becomes a spread of at most a day", () => {
    const found = one({ jitter: "300s" });
    expect(found.body["spread"]).toBe("300s");
    expect(found.told).toContain("jitter");
    const long = one({ jitter: "200000s" });
    expect(long.told).toContain("at most 24 hours");
    expect(bodyFaults(long)).toEqual([]);
  });

  test("At clock changes a calendar leaves out a skipped time and runs twice at a repeated one", () => {
    const at = (hour: number, minute: number) =>
      one({
        structuredCalendar: [{ ...all, hour: [{ start: hour }], minute: [{ start: minute }] }],
        timezoneName: "America/New_York",
      });
    expect(comingOf(at(2, 30), "2012-03-11T05:00:00Z", 1)).toEqual(["2012-03-12T06:30:00.000Z"]);
    expect(comingOf(at(1, 30), "2012-11-04T04:00:00Z", 2)).toEqual([
      "2012-11-04T05:30:00.000Z",
      "2012-11-04T06:30:00.000Z",
    ]);
  });

  test("A calendar's times match a model of Temporal that checks each hour", () => {
    const ranges = (first: number, last: number) =>
      fc.array(
        fc.record(
          {
            start: fc.integer({ min: first, max: last }),
            end: fc.integer({ min: first, max: last }),
            step: fc.integer({ min: 1, max: 3 }),
          },
          { requiredKeys: ["start"] },
        ),
        { minLength: 1, maxLength: 2 },
      );
    fc.assert(
      fc.property(ranges(0, 23), ranges(1, 28), ranges(0, 6), (hour, dayOfMonth, dayOfWeek) => {
        const found = one({ structuredCalendar: [{ ...all, hour, dayOfMonth, dayOfWeek }] });
        const hours = Array.from({ length: 60 * 24 }, (_, at) => Date.UTC(2026, 0, 1, at));
        const expected = hours.filter((at) => {
          const date = new Date(at);
          return (
            isIn(hour, date.getUTCHours()) &&
            isIn(dayOfMonth, date.getUTCDate()) &&
            isIn(dayOfWeek, date.getUTCDay())
          );
        });
        const own = comingOf(found, "2025-12-31T23:59:59Z", expected.length);
        expect(own.slice(0, expected.length).map((at) => Date.parse(at))).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

function isIn(
  ranges: readonly { start: number; end?: number | undefined; step?: number | undefined }[],
  value: number,
): boolean {
  return ranges.some(({ start, end = 0, step = 1 }) =>
    end < start ? value === start : value >= start && value <= end && (value - start) % step === 0,
  );
}
