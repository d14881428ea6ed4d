import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { kubernetes } from "../../../lib/cli/formats/neighbours/kubernetes.ts";
import { kubernetesWhen } from "../../../lib/cli/formats/neighbours/kubernetes-when.ts";
import { bodyFaults, comingOf, readAll, readOne } from "./reading.ts";

/** A manifest as `kubectl get cronjob -o yaml` prints it, in short. */
function manifest(spec: object = {}, metadata: object = {}, job: object = {}) {
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "report", ...metadata },
    spec: {
      schedule: "0 3 * * *",
      jobTemplate: {
        spec: {
          template: {
            spec: {
              restartPolicy: "OnFailure",
              containers: [{ name: "main", image: "report:1", command: ["report"], args: ["--all"] }],
            },
          },
          ...job,
        },
      },
      ...spec,
    },
  };
}

const one = (...parts: Parameters<typeof manifest>) => readOne(kubernetes, manifest(...parts));

describe("a CronJob of Kubernetes", () => {
  test("A CronJob keeps its time, name, containers and the retries of Kubernetes", () => {
    const found = one({ timeZone: "UTC" }, { namespace: "billing" });
    expect(found).toMatchObject({
      key: "billing:report",
      from: "file.json report",
      body: {
        when: "0 3 * * *",
        timezone: "UTC",
        target: { queue: "jobs" },
        payload: {
          namespace: "billing",
          name: "report",
          containers: [{ name: "main", image: "report:1", command: ["report"], args: ["--all"] }],
        },
        retry: { attempts: 7, backoff: "exponential", base: "10s", max: "6m" },
      },
      faults: [],
    });
    expect(bodyFaults(found)).toEqual([]);
    expect(one({}, { namespace: "default" }).key).toBe("report");
  });

  test("A suspended CronJob becomes a paused schedule", () => {
    expect(one({ suspend: true }).body["paused"]).toBe(true);
    expect(one().body).not.toHaveProperty("paused");
  });

  test("The starting deadline of a CronJob is the deadline and the limit of the catch-up", () => {
    const found = one({ startingDeadlineSeconds: 200 });
    expect(found.body).toMatchObject({
      deadline: "200s",
      catchUp: { policy: "latest", within: "200s" },
    });
    expect(found.told).toContain("more than 200 s late");
    expect(bodyFaults(found)).toEqual([]);
    const long = one({ startingDeadlineSeconds: 9_000_000 });
    expect(long.told).toContain("at most 30 days");
    expect(bodyFaults(long)).toEqual([]);
    expect(one({ startingDeadlineSeconds: 0 }).fault).toContain("starts no job");
  });

  test.each([
    ["Allow", undefined, ""],
    ["Forbid", "skip", "starts a forbidden run late"],
    ["Replace", "skip", "ends no job for another"],
  ])("The concurrency policy %s of a CronJob becomes the overlap %s", (policy, overlap, told) => {
    const found = one({ concurrencyPolicy: policy });
    expect(found.body["overlap"]).toBe(overlap);
    expect(found.told).toContain(told);
    expect(found.told.includes("counts as running until it is delivered")).toBe(overlap !== undefined);
  });

  test("The differences of a CronJob name its fields without an equal here, and variables without their values", () => {
    const found = one(
      { successfulJobsHistoryLimit: 3 },
      {},
      {
        backoffLimit: 0,
        activeDeadlineSeconds: 600,
        parallelism: 2,
        template: { spec: { containers: [{ name: "a", env: [{ name: "PASSWORD", value: "hunter2" }] }] } },
      },
    );
    expect(found.body["retry"]).toEqual({ attempts: 1 });
    for (const word of [
      "history limits",
      "activeDeadlineSeconds 600",
      "several pods",
      "variables",
      "no pods",
    ])
      expect(found.told).toContain(word);
    expect(JSON.stringify(found)).not.toContain("hunter2");
  });

  test("CronJobs are found in several documents, in lists and among other kinds", () => {
    const text = [
      "apiVersion: v1\nkind: Service\nmetadata: {name: web}",
      JSON.stringify(manifest()),
      JSON.stringify({ kind: "List", items: [manifest({}, { name: "b" }), { kind: "Secret" }] }),
      JSON.stringify({ kind: "CronJobList", items: [{ ...manifest({}, { name: "c" }), kind: undefined }] }),
    ].join("\n---\n");
    const { found, notes } = readAll(kubernetes, text);
    expect(found.map(({ key }) => key)).toEqual(["report", "b", "c"]);
    expect(notes.join()).toContain("2 objects of other kinds");
  });

  test("A CronJob that is not understood says which field, and a template says that it is one", () => {
    const odd = one({ concurrencyPolicy: "Never" });
    expect(odd).toMatchObject({
      from: "file.json report",
      fault: expect.stringContaining("concurrencyPolicy"),
    });
    const text = "{{- if .Values.enabled }}\nkind: CronJob\n{{- end }}\n";
    expect(readOne(kubernetes, text).fault).toContain("it is a template");
  });
});

describe("the times of a CronJob", () => {
  test.each([
    ["0 3 ? * *", "0 3 * * *"],
    ["0 ?/2 * * *", "0 */2 * * *"],
    ["0 3 */1 * 1", "0 3 * * 1"],
    ["0 3 5,? * 1", "0 3 * * 1"],
    ["0 3 */2 * 1", "0 3 */2 * 1"],
    ["0 3 * JAN mon-fri", "0 3 * JAN mon-fri"],
    ["@daily", "@daily"],
    ["@every 1h30m", "every 5400s"],
    ["@every 1.5s", "every 1s"],
  ])("The schedule %s of a CronJob becomes %s", (schedule, when) => {
    const found = one({ schedule });
    expect(found.body["when"]).toBe(when);
    expect(bodyFaults(found)).toEqual([]);
  });

  test.each([["0 3 L * *"], ["0 3 * * friL"], ["0 3 1 * 1&"], ["H 3 * * *"], ["@every soon"]])(
    "The schedule %s is refused, because Kubernetes has no such schedule",
    (schedule) => {
      expect(one({ schedule }).faults).toHaveLength(1);
    },
  );

  test("The zone of a CronJob is timeZone, else that in its schedule, else that of the option, else UTC with a note", () => {
    expect(one({ timeZone: "Asia/Tokyo" }).body["timezone"]).toBe("Asia/Tokyo");
    const within = one({ schedule: "CRON_TZ=Asia/Tokyo 0 3 * * *" });
    expect(within.body).toMatchObject({ when: "0 3 * * *", timezone: "Asia/Tokyo" });
    expect(within.told).toContain("does not support officially");
    expect(one().told).toContain("read as UTC");
    expect(readOne(kubernetes, manifest(), { timezone: "Asia/Tokyo" }).body["timezone"]).toBe("Asia/Tokyo");
    expect(one({ timeZone: "Mars" }).fault).toContain('"Mars"');
    expect(one({ timeZone: "Asia/Tokyo", schedule: "TZ=UTC 0 3 * * *" }).fault).toContain(
      "exclude each other",
    );
  });

  test("At clock changes a CronJob leaves out a skipped time and runs twice at a repeated one", () => {
    const spring = one({ schedule: "30 2 * * *", timeZone: "America/New_York" });
    expect(spring.told).toContain("clock changes");
    expect(comingOf(spring, "2012-03-11T05:00:00Z", 1)).toEqual(["2012-03-12T06:30:00.000Z"]);
    const autumn = one({ schedule: "30 1 * * *", timeZone: "America/New_York" });
    expect(comingOf(autumn, "2012-11-04T04:00:00Z", 3)).toEqual([
      "2012-11-04T05:30:00.000Z",
      "2012-11-04T06:30:00.000Z",
      "2012-11-05T06:30:00.000Z",
    ]);
    expect(one({ schedule: "@daily", timeZone: "America/Santiago" }).body["dst"]).toEqual({
      gap: "skip",
      overlap: "both",
    });
    expect(one({ schedule: "*/5 * * * *", timeZone: "America/New_York" }).body).not.toHaveProperty("dst");
  });

  test("The days of a CronJob match a model of the library that Kubernetes uses", () => {
    const item = (first: number, last: number) =>
      fc.oneof(
        fc.constantFrom("*", "?", "*/1", "*/2", "*/3"),
        fc.integer({ min: first, max: last }).map(String),
        fc
          .tuple(fc.integer({ min: first, max: last }), fc.integer({ min: first, max: last }))
          .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
      );
    const field = (first: number, last: number) =>
      fc.array(item(first, last), { minLength: 1, maxLength: 2 }).map((items) => items.join(","));
    fc.assert(
      fc.property(field(1, 28), field(0, 6), (day, weekday) => {
        const { when } = kubernetesWhen(`0 0 ${day} * ${weekday}`);
        const days = Array.from({ length: 90 }, (_, at) => Date.UTC(2026, 0, 1 + at));
        const expected = days.filter((at) => dayMatches(day, weekday, new Date(at)));
        const found = { from: "", key: "a", body: { when }, differences: [], faults: [] };
        const own = comingOf(found, "2025-12-31T23:59:59Z", expected.length);
        expect(own.map((at) => Date.parse(at))).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });
});

/** A `*` without a step, also in a list, makes both fields count; otherwise either is enough. */
function dayMatches(day: string, weekday: string, at: Date): boolean {
  const dayFits = isIn(day, at.getUTCDate(), 1, 31);
  const weekdayFits = isIn(weekday, at.getUTCDay(), 0, 6);
  const hasStar = [day, weekday].some((field) => field.split(",").some((item) => /^[*?](\/1)?$/.test(item)));
  return hasStar ? dayFits && weekdayFits : dayFits || weekdayFits;
}

function isIn(field: string, value: number, first: number, last: number): boolean {
  return field.split(",").some((item) => {
    const [range = "", step = "1"] = item.split("/");
    const [from = "", to = from] = /^[*?]$/.test(range) ? [String(first), String(last)] : range.split("-");
    return value >= Number(from) && value <= Number(to) && (value - Number(from)) % Number(step) === 0;
  });
}
