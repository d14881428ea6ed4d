import { parseArgs } from "node:util";
import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { CarillonStack } from "../../carillon-stack.ts";
import { settingsFrom } from "../../settings.ts";
import { pricesOfRegion, readPriceTable } from "./price-table.ts";
import { asMarkdown, costs, type PricedStack } from "./report.ts";
import { jobsPerParcelMax } from "./workload.ts";

const help = `npm run cost -- [options]

  --schedules N        how many schedules there are (1000000)
  --fires-per-day N    how many jobs they make in a day (5000000)
  --jobs-per-parcel N  how many of them are due together, 1 to ${jobsPerParcelMax.fast} (${jobsPerParcelMax.fast})
  --available          the month is one of the highly available setting
  -c NAME=VALUE        a setting, as cdk deploy takes it (carillon:apiKind=rest); any number of them, and then this stack alone is priced
  --region NAME        us-east-1 or eu-west-1 (us-east-1)
  --region-table FILE  prices of your own, in the shape of infra/cost/us-east-1.json
  --json               one JSON object instead of tables`;

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "1000000" },
    "fires-per-day": { type: "string", default: "5000000" },
    "jobs-per-parcel": { type: "string", default: String(jobsPerParcelMax.fast) },
    available: { type: "boolean", default: false },
    context: { type: "string", short: "c", multiple: true, default: [] },
    region: { type: "string", default: "us-east-1" },
    "region-table": { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

try {
  process.stdout.write(`${values.help ? help : costText()}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}

function costText(): string {
  const file = values["region-table"];
  const table = file === undefined ? pricesOfRegion(values.region) : readPriceTable(file);
  const sections = costs({
    table,
    ...requestedStacks(),
    schedules: wholeNumber("schedules", 1e12),
    firesPerDay: wholeNumber("fires-per-day", 1e12),
    jobsPerParcel: wholeNumber("jobs-per-parcel", jobsPerParcelMax.fast, 1),
  });
  const { region, asOf, source } = table;
  return values.json ? JSON.stringify({ region, asOf, source, sections }) : asMarkdown(table, sections);
}

/** The smallest and the highly available stack, or the one with the given settings. */
function requestedStacks(): { stacks: readonly PricedStack[]; working: PricedStack } {
  const available = values.available ? { "carillon:highlyAvailable": true } : {};
  if (values.context.length > 0) {
    const own = stackOf("with these settings", {
      ...Object.fromEntries(values.context.map(setting)),
      ...available,
    });
    return { stacks: [own], working: own };
  }
  const smallest = stackOf("smallest", {});
  const larger = stackOf("highly available", { "carillon:highlyAvailable": true });
  return { stacks: [smallest, larger], working: values.available ? larger : smallest };
}

function setting(given: string): [name: string, value: string] {
  const [, name, value] = /^(carillon:\w+)=(.*)$/s.exec(given) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new Error(
    `-c ${given}: it takes a setting such as carillon:highlyAvailable=true; docs/settings.md lists them all.`,
  );
}

/** Synthesises the template that would be deployed, without bundling the functions. */
function stackOf(name: string, context: Record<string, unknown>): PricedStack {
  const app = new App({ context: { ...context, "aws:cdk:bundling-stacks": [] } });
  const settings = settingsFrom(app.node);
  const template: unknown = Template.fromStack(new CarillonStack(app, "Carillon", settings)).toJSON();
  return { name, template, highlyAvailable: settings.highlyAvailable };
}

function wholeNumber(name: "schedules" | "fires-per-day" | "jobs-per-parcel", max: number, min = 0): number {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new Error(`--${name} is "${values[name]}"; it takes a whole number from ${min} to ${max}.`);
}
