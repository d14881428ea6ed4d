import { expect, test } from "vitest";
import { z } from "zod";
import { metricUnits } from "../../lib/log/metrics.ts";
import { synthesised } from "./synthesised.ts";

const joined = z.object({ "Fn::Join": z.tuple([z.literal(""), z.array(z.unknown())]) });
const page = z.object({
  widgets: z.array(
    z.object({
      x: z.number(),
      y: z.number(),
      properties: z.object({
        title: z.string(),
        alarms: z.array(z.string()).default([]),
        metrics: z.array(z.array(z.unknown())).default([]),
      }),
    }),
  ),
});

/**
 * The dashboard as CloudWatch reads it, with a placeholder for values that only a deployment knows.
 */
function dashboard(settings: Record<string, unknown> = {}) {
  const stack = synthesised(settings);
  const [found] = stack.ofType("AWS::CloudWatch::Dashboard");
  const [, parts] = joined.parse(found?.[1].Properties["DashboardBody"])["Fn::Join"];
  const text = parts.map((part) => (typeof part === "string" ? part : "unknown")).join("");
  return { stack, widgets: page.parse(JSON.parse(text)).widgets };
}

test("the dashboard shows every alarm, and each metric under the name and namespace that functions write", () => {
  const { stack, widgets } = dashboard({ metricsNamespace: "Carillon/staging" });
  const alarms = widgets.flatMap(({ properties }) => properties.alarms);
  expect(alarms).toHaveLength(stack.ofType("AWS::CloudWatch::Alarm").length);
  const own = widgets
    .flatMap(({ properties }) => properties.metrics)
    .filter(([namespace]) => namespace === "Carillon/staging")
    .map(([, name]) => String(name));
  expect(new Set(own).size).toBeGreaterThan(10);
  for (const name of own) expect(Object.keys(metricUnits)).toContain(name);
});

test("every graph of the dashboard has a metric, and no two overlap", () => {
  const { widgets } = dashboard();
  for (const { properties } of widgets)
    expect(properties.alarms.length + properties.metrics.length, properties.title).toBeGreaterThan(0);
  const places = widgets.map(({ x, y }) => `${x},${y}`);
  expect(new Set(places).size).toBe(widgets.length);
});

test("the dashboard shows the canary of a deployment that has one", () => {
  const shown = (settings: Record<string, unknown>) =>
    dashboard(settings).widgets.flatMap(({ properties }) => properties.metrics.map(([, name]) => name));
  expect(shown({})).toContain("CanaryMs");
  expect(shown({ canaryMinutes: 0 })).not.toContain("CanaryMs");
});

test("the dashboard shows memory, swap and charged credits of an instance, and not of a cluster", () => {
  const shown = (settings: Record<string, unknown>) =>
    dashboard(settings).widgets.flatMap(({ properties }) => properties.metrics.map(([, name]) => name));
  const ofInstance = ["FreeableMemory", "SwapUsage", "CPUSurplusCreditsCharged"];
  expect(shown({})).toEqual(expect.arrayContaining(ofInstance));
  for (const name of ofInstance) expect(shown({ database: "aurora" })).not.toContain(name);
});

test("the dashboard can be switched off", () => {
  expect(synthesised({ dashboard: "false" }).ofType("AWS::CloudWatch::Dashboard")).toEqual([]);
});
