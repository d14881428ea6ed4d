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

/** The page as CloudWatch reads it, with a name in place of what only a deployment knows. */
function dashboard(settings: Record<string, unknown> = {}) {
  const stack = synthesised(settings);
  const [found] = stack.ofType("AWS::CloudWatch::Dashboard");
  const [, parts] = joined.parse(found?.[1].Properties["DashboardBody"])["Fn::Join"];
  const text = parts.map((part) => (typeof part === "string" ? part : "unknown")).join("");
  return { stack, widgets: page.parse(JSON.parse(text)).widgets };
}

test("the dashboard shows every alarm there is, and each metric under the name and namespace that functions write", () => {
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

test("every graph of it shows something, and none lies on another", () => {
  const { widgets } = dashboard();
  for (const { properties } of widgets)
    expect(properties.alarms.length + properties.metrics.length, properties.title).toBeGreaterThan(0);
  const places = widgets.map(({ x, y }) => `${x},${y}`);
  expect(new Set(places).size).toBe(widgets.length);
});

test("it shows the canary where there is one", () => {
  const shown = (settings: Record<string, unknown>) =>
    dashboard(settings).widgets.flatMap(({ properties }) => properties.metrics.map(([, name]) => name));
  expect(shown({})).toContain("CanaryMs");
  expect(shown({ canaryMinutes: 0 })).not.toContain("CanaryMs");
});

test("there is none where none is wanted", () => {
  expect(synthesised({ dashboard: "false" }).ofType("AWS::CloudWatch::Dashboard")).toEqual([]);
});
