import { parseArgs } from "node:util";
import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { CarillonStack } from "../carillon-stack.ts";
import { checkedSettings, type Settings } from "../settings.ts";
import { pricesOfRegion, readPriceTable } from "./price-table.ts";
import { asMarkdown, costs } from "./report.ts";
import { jobsPerParcelMax } from "./workload.ts";

const help = `npm run cost -- [options]

  --schedules N        how many schedules there are (1000000)
  --fires-per-day N    how many jobs they make in a day (5000000)
  --jobs-per-parcel N  how many of them are due together, 1 to ${jobsPerParcelMax.fast} (${jobsPerParcelMax.fast})
  --available          the month is one of the highly available setting
  --region NAME        us-east-1 or eu-west-1 (us-east-1)
  --region-table FILE  prices of your own, in the shape of infra/cost/us-east-1.json
  --json               one JSON object instead of tables`;

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "1000000" },
    "fires-per-day": { type: "string", default: "5000000" },
    "jobs-per-parcel": { type: "string", default: String(jobsPerParcelMax.fast) },
    available: { type: "boolean", default: false },
    region: { type: "string", default: "us-east-1" },
    "region-table": { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

try {
  process.stdout.write(`${values.help ? help : told()}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}

function told(): string {
  const file = values["region-table"];
  const table = file === undefined ? pricesOfRegion(values.region) : readPriceTable(file);
  const sections = costs({
    table,
    smallest: templateOf({}),
    available: templateOf({ highlyAvailable: true }),
    schedules: wholeNumber("schedules", 1e12),
    firesPerDay: wholeNumber("fires-per-day", 1e12),
    jobsPerParcel: wholeNumber("jobs-per-parcel", jobsPerParcelMax.fast, 1),
    highlyAvailable: values.available,
  });
  const { region, asOf, source } = table;
  return values.json ? JSON.stringify({ region, asOf, source, sections }) : asMarkdown(table, sections);
}

/** The template that would be deployed, without the bundles of its functions. */
function templateOf(settings: Partial<Settings>): unknown {
  const app = new App({ context: { "aws:cdk:bundling-stacks": [] } });
  return Template.fromStack(new CarillonStack(app, "Carillon", checkedSettings(settings))).toJSON();
}

function wholeNumber(name: "schedules" | "fires-per-day" | "jobs-per-parcel", max: number, min = 0): number {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new Error(`--${name} is "${values[name]}"; it takes a whole number from ${min} to ${max}.`);
}
