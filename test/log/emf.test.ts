import { describe, expect, test } from "vitest";
import * as z from "zod";
import { metricsFrom } from "../../lib/config/metrics-from.ts";
import { emfMetrics } from "../../lib/log/emf.ts";
import { type Measured, type MetricDimensions, metricUnits, noMetrics } from "../../lib/log/metrics.ts";

/** The units of CloudWatch that are of use here. */
const unit = z.enum(["Count", "Milliseconds", "Seconds", "Bytes", "Percent", "Count/Second", "None"]);

/** The rules of the specification of the Embedded Metric Format. */
const directive = z.strictObject({
  Namespace: z.string().regex(/^[A-Za-z0-9._/#:-]{1,255}$/),
  Dimensions: z.array(z.array(z.string().min(1).max(250)).max(30)).min(1),
  Metrics: z
    .array(
      z.strictObject({
        Name: z.string().min(1).max(1_024),
        Unit: unit,
        StorageResolution: z.union([z.literal(1), z.literal(60)]).optional(),
      }),
    )
    .min(1)
    .max(100),
});

const emf = z.looseObject({
  _aws: z.strictObject({ Timestamp: z.int().min(1), CloudWatchMetrics: z.array(directive).min(1) }),
});

const now = new Date("2026-03-02T10:00:00Z");

function lineOf(measured: Measured, dimensions?: MetricDimensions): Record<string, unknown> | undefined {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  emfMetrics({ namespace: "Carillon", source: "worker", now: () => now, write }).write(measured, dimensions);
  expect(lines.length).toBeLessThanOrEqual(1);
  const [line] = lines;
  if (line === undefined) return undefined;
  expect(Buffer.byteLength(line)).toBeLessThan(256 * 1024);
  const read = emf.parse(JSON.parse(line));
  for (const { Dimensions, Metrics } of read._aws.CloudWatchMetrics) {
    for (const name of Dimensions.flat()) expect(read[name]).toEqual(expect.any(String));
    for (const { Name } of Metrics) {
      const value = read[Name];
      const values = Array.isArray(value) ? value : [value];
      expect(values.length).toBeLessThanOrEqual(100);
      for (const each of values) expect(each).toEqual(expect.any(Number));
    }
  }
  return read;
}

describe("a line of metrics", () => {
  test("a line of metrics follows the Embedded Metric Format, with every metric", () => {
    const all = Object.fromEntries(Object.keys(metricUnits).map((name, index) => [name, index]));
    const line = lineOf(all, { queue: "fast" });
    expect(line).toMatchObject({ ...all, function: "worker", queue: "fast", event: "metrics" });
    expect(line?.["_aws"]).toMatchObject({
      Timestamp: now.getTime(),
      CloudWatchMetrics: [{ Namespace: "Carillon", Dimensions: [["function", "queue"]] }],
    });
  });

  test("a line of metrics has at most a hundred values of one metric, the least and the greatest among them", () => {
    const late = Array.from({ length: 2_500 }, (_, index) => (index * 7_919) % 2_500);
    const values = z.array(z.number()).parse(lineOf({ LatenessMs: late })?.["LatenessMs"]);
    expect(values).toHaveLength(100);
    expect([values[0], values[50], values.at(-1)]).toEqual([0, 1_262, 2_499]);
  });

  test("a line of metrics without a value is not written", () => {
    expect(lineOf({})).toBeUndefined();
    expect(lineOf({ LatenessMs: [] })).toBeUndefined();
    expect(lineOf({ TickMs: Number.NaN })).toBeUndefined();
  });
});

describe("the metrics of a function", () => {
  test("metrics are not written into a log for people", () => {
    expect(metricsFrom({ CARILLON_LOG: "text" }, "tick")).toBe(noMetrics);
    expect(metricsFrom({ CARILLON_LOG: "silent" }, "tick")).toBe(noMetrics);
    expect(metricsFrom({}, "tick")).not.toBe(noMetrics);
  });

  test.each(["AWS/Lambda", "", "with blank", "ü"])(
    "metrics are refused under the namespace %j",
    (namespace) => {
      const env = { CARILLON_METRICS_NAMESPACE: namespace };
      expect(() => metricsFrom(env, "tick")).toThrow(/CARILLON_METRICS_NAMESPACE/);
    },
  );
});
