import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { idleMonth } from "../../infra/tools/cost/idle-month.ts";
import { type Line, line, total } from "../../infra/tools/cost/line.ts";
import {
  type PriceTable,
  pricesOfRegion,
  readPriceTable,
  regions,
} from "../../infra/tools/cost/price-table.ts";
import { asMarkdown, costs } from "../../infra/tools/cost/report.ts";
import { usageOf } from "../../infra/tools/cost/usage.ts";
import {
  jobsPerParcelMax,
  millionJobs,
  millionRequests,
  millionWebhooks,
  workloadMonth,
} from "../../infra/tools/cost/workload.ts";
import { parcelMax } from "../../lib/parcel/parcel-queue.ts";
import { synthesised } from "./synthesised.ts";

const root = path.join(import.meta.dirname, "..", "..");

let table: PriceTable;
let smallest: unknown;
let available: unknown;
beforeAll(() => {
  table = pricesOfRegion("us-east-1");
  smallest = synthesised().template.toJSON();
  available = synthesised({ highlyAvailable: true }).template.toJSON();
});

function usdOf(lines: readonly Line[], what: string): number {
  return lines.find((each) => each.what === what)?.usd ?? Number.NaN;
}

function stackOf(Type: string, Properties: object): object {
  return { Resources: { One: { Type, Properties } } };
}

test("a line of the bill is the product of its factors, and its formula shows them", () => {
  const endpoints = line("Endpoints", [4, "endpoints"], [730, "h"], [0.01, "USD"]);
  expect(endpoints.usd).toBeCloseTo(29.2);
  expect(endpoints.formula).toBe("4 endpoints × 730 h × 0.01 USD");
  expect(total([endpoints, endpoints])).toBeCloseTo(58.4);
});

describe("an idle month", () => {
  test("an idle month prices every type of resource of the stack, in both settings and every region", () => {
    for (const region of regions) {
      const { usd } = pricesOfRegion(region);
      expect(total(idleMonth(smallest, usd))).toBeGreaterThan(40);
      expect(total(idleMonth(available, usd))).toBeGreaterThan(total(idleMonth(smallest, usd)));
    }
  });

  test("an idle month follows the template: a standby and second endpoints cost as much as the first ones", () => {
    const one = idleMonth(smallest, table.usd);
    const two = idleMonth(available, table.usd);
    for (const what of ["Database", "Database storage", "Interface endpoints"]) {
      expect(usdOf(two, what)).toBeCloseTo(2 * usdOf(one, what));
    }
    expect(usdOf(one, "Database")).toBeCloseTo(730 * 0.032);
    expect(usdOf(one, "Interface endpoints")).toBeCloseTo(4 * 730 * 0.01);
    const fewer = synthesised({ endpoints: "sqs,secretsmanager", lifecycleEvents: "none" }).template.toJSON();
    expect(usdOf(idleMonth(fewer, table.usd), "Interface endpoints")).toBeCloseTo(2 * 730 * 0.01);
  });

  test("an idle month refuses a type of resource or a class of database without a price", () => {
    expect(() => idleMonth(stackOf("AWS::EC2::NatGateway", {}), table.usd)).toThrow(
      "No price is known for AWS::EC2::NatGateway.",
    );
    expect(() => idleMonth(stackOf("AWS::EC2::VPCPeeringConnection", {}), table.usd)).toThrow("VPCPeering");
    const database = { DBInstanceClass: "db.x9.huge", AllocatedStorage: "20" };
    expect(() => idleMonth(stackOf("AWS::RDS::DBInstance", database), table.usd)).toThrow(
      /^The price table has no x9\.huge under databaseHour; .* name that with --region-table\.$/,
    );
  });
});

describe("the usage that a template implies", () => {
  const plain = { ticksAMinute: 0, canaryMinutes: undefined, traced: false, restApi: false, firewall: false };

  test("the usage of a stack counts the ticks of its template, started by rule and by scheduler", () => {
    expect(usageOf(smallest)).toMatchObject({ ticksAMinute: 1, restApi: false, traced: false });
    const seven = synthesised({
      tickShards: 7,
      apiRequestBurst: 10,
      slowConcurrency: 2,
      jobRetentionDays: 90,
    }).template.toJSON();
    expect(usageOf(seven)).toMatchObject({ ticksAMinute: 7, daysKept: 90 });
    const scheduled = synthesised({ tickBy: "scheduler" }).template.toJSON();
    expect(usageOf(scheduled)).toMatchObject({ ticksAMinute: 1, daysKept: 30 });
    expect(usdOf(idleMonth(seven, table.usd), "Ticks, requests")).toBeCloseTo(7 * 0.0438 * 0.2);
  });

  test("a REST API costs more per request, and its firewall is charged as well", () => {
    const rest = millionRequests(table.usd, { ...plain, restApi: true, firewall: true });
    expect(usdOf(rest, "Gateway")).toBeCloseTo(3.5);
    expect(usdOf(rest, "Firewall")).toBeCloseTo(0.6);
    const http = millionRequests(table.usd, plain);
    expect(total(rest) - total(http)).toBeCloseTo(3.1);
    expect(usageOf(synthesised({ apiKind: "rest" }).template.toJSON()).restApi).toBe(true);
    const acl = stackOf("AWS::WAFv2::WebACL", { Rules: [{}, {}, {}] });
    expect(total(idleMonth(acl, table.usd)) - total(idleMonth({ Resources: {} }, table.usd))).toBeCloseTo(8);
  });

  test("the usage of a traced stack has a trace for every tick, and for one in twenty of frequent invocations", () => {
    const Properties = { TracingConfig: { Mode: "Active" } };
    const resources = { Resources: { Fn: { Type: "AWS::Lambda::Function", Properties } } };
    expect(usageOf(resources).traced).toBe(true);
    expect(usdOf(millionJobs(table.usd, 1, true), "Traces")).toBeCloseTo(0.25);
    expect(usdOf(millionJobs(table.usd, 1), "Traces")).toBeNaN();
  });

  test("a canary costs two jobs per interval, and the metrics that workers write with them", () => {
    const Properties = { Environment: { Variables: { CANARY_MINUTES: "5" } } };
    const lines = idleMonth(stackOf("AWS::Lambda::Function", Properties), table.usd);
    expect(usdOf(lines, "Canary, jobs")).toBeCloseTo(0.01752 * total(millionJobs(table.usd, 1)));
    expect(usdOf(lines, "Canary, metrics")).toBeCloseTo(3.3);
  });

  test("an alarm costs as much as the metrics that it reads", () => {
    const read = (MetricName: string) => ({ Id: MetricName, MetricStat: { Metric: { MetricName } } });
    const sum = { Id: "sum", Expression: "a + b" };
    const alarms = {
      Resources: {
        Plain: { Type: "AWS::CloudWatch::Alarm", Properties: { MetricName: "TickMs" } },
        Sum: { Type: "AWS::CloudWatch::Alarm", Properties: { Metrics: [sum, read("a"), read("b")] } },
      },
    };
    expect(usdOf(idleMonth(alarms, table.usd), "Alarms")).toBeCloseTo(0.3);
  });
});

describe("the command", () => {
  const cost = (...args: string[]) =>
    spawnSync(process.execPath, ["infra/tools/cost/run.ts", ...args], { cwd: root, encoding: "utf8" });

  test("the cost command prices a stack by the settings that cdk deploy accepts", () => {
    const given = ["databaseClass=t4g.medium", "endpoints=sqs,secretsmanager", "lifecycleEvents=none"];
    const { stdout } = cost("--json", ...given.flatMap((each) => ["-c", `carillon:${each}`]));
    const { sections } = z
      .object({ sections: z.array(z.object({ title: z.string(), lines: z.array(z.custom<Line>()) })) })
      .parse(JSON.parse(stdout));
    expect(sections.map(({ title }) => title)).toContain("An idle month, with these settings");
    expect(usdOf(sections[0]?.lines ?? [], "Interface endpoints")).toBeCloseTo(2 * 7.3);
    expect(usdOf(sections[0]?.lines ?? [], "Database")).toBeCloseTo(730 * 0.065);
  }, 60_000);

  test("the cost command refuses an unknown setting", () => {
    const { status, stderr } = cost("-c", "carillon:databaseClas=t4g.small");
    expect(status).toBe(2);
    expect(stderr).toContain("carillon:databaseClas: there is no such setting");
  }, 60_000);
});

describe("a workload", () => {
  test("a priced workload has parcels as large as those that are sent", () => {
    expect(jobsPerParcelMax).toEqual(parcelMax);
  });

  test("full parcels cost a 250th of the requests of jobs that come alone", () => {
    const alone = millionJobs(table.usd, 1);
    expect(usdOf(alone, "Parcels through SQS")).toBeCloseTo(3 * 0.4);
    expect(usdOf(alone, "Parcels through SQS")).toBeCloseTo(
      250 * usdOf(millionJobs(table.usd, 250), "Parcels through SQS"),
    );
    expect(usdOf(alone, "Messages to targets")).toBeCloseTo(0.4);
    expect(usdOf(millionJobs(table.usd, 250), "Messages to targets")).toBeCloseTo(0.04);
  });

  test("a slow webhook is charged twice: for the sender, and for a tenth of a worker", () => {
    const webhooks = millionWebhooks(table.usd);
    expect(usdOf(webhooks, "Sender, time")).toBeCloseTo(300_000 * 0.25 * 0.0000133334);
    expect(usdOf(webhooks, "Workers, time")).toBeCloseTo(30_000 * 0.0000133334);
  });

  test("a month's workload costs its jobs by the million and their storage, in each zone", () => {
    const workload = {
      schedules: 2_000_000,
      firesPerDay: 1_000_000,
      jobsPerParcel: 250,
      zones: 2,
      daysKept: 30,
      traced: false,
    };
    const lines = workloadMonth(table.usd, workload);
    expect(usdOf(lines, "Jobs")).toBeCloseTo((365 / 12) * total(millionJobs(table.usd, 250)));
    expect(usdOf(lines, "Jobs kept for 30 days")).toBeCloseTo(2 * 30 * 0.516 * 0.115);
    expect(usdOf(lines, "Schedules")).toBeCloseTo(2 * 3 * 0.115);
  });
});

test("a user's own price table is read, and one that lacks a price is refused with the missing name", () => {
  const own = new URL("../../infra/tools/cost/eu-west-1.json", import.meta.url);
  expect(readPriceTable(own).region).toBe("eu-west-1");
  expect(() => readPriceTable(new URL("../../package.json", import.meta.url))).toThrow("usd: ");
  expect(() => pricesOfRegion("mars-north-1")).toThrow("pass your own with --region-table FILE");
});

describe("docs/costs.md", () => {
  const rows = (text: string) =>
    text.split("\n").filter((row) => row.startsWith("| ") && !row.startsWith("| what"));
  /**
   * The tolerance for standing costs, so that one alarm more or less does not require a new
   * document.
   */
  const off = 0.1;

  test("docs/costs.md has the command's figures: workloads to the cent, standing costs to a tenth", () => {
    const told = readFileSync(new URL("../../docs/costs.md", import.meta.url), "utf8");
    const working = { name: "smallest", template: smallest, highlyAvailable: false };
    const stacks = [working, { name: "highly available", template: available, highlyAvailable: true }];
    const workload = { schedules: 1_000_000, firesPerDay: 5_000_000, jobsPerParcel: 250 };
    const sections = costs({ table, stacks, working, ...workload });
    expect(told).toContain(`${table.region}, ${table.asOf}. ${table.source}`);
    for (const section of sections) {
      const shown = told.split(`### ${section.title}\n`)[1]?.split("\n### ")[0]?.split("\n## ")[0] ?? "";
      const wanted = asMarkdown(table, [section]);
      if (section.title.startsWith("A million")) expect(rows(shown)).toEqual(rows(wanted));
      const sumOf = (text: string) => Number(/\*\*Together\*\* \| \| \*\*([\d.]+)/.exec(text)?.[1]);
      const sum = total(section.lines);
      expect(Math.abs(sumOf(shown) - sum), section.title).toBeLessThan(off * sum);
    }
  });
});

test("docs/costs.md prices an Aurora cluster at its smallest capacity per instance, and a proxy for it at eight units", () => {
  const aurora = { database: "aurora", highlyAvailable: true, databaseProxy: true };
  const lines = idleMonth(synthesised(aurora).template.toJSON(), table.usd);
  expect(usdOf(lines, "Database")).toBeCloseTo(2 * 0.5 * 730 * 0.12);
  expect(usdOf(lines, "Proxy")).toBeCloseTo(8 * 730 * 0.015);
  const before = (databaseClass: string) =>
    usdOf(
      idleMonth(synthesised({ databaseProxy: true, databaseClass }).template.toJSON(), table.usd),
      "Proxy",
    );
  expect(before("t4g.small")).toBeCloseTo(2 * 730 * 0.015);
});
