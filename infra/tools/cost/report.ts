import { idleMonth } from "./idle-month.ts";
import { type Line, total } from "./line.ts";
import type { PriceTable } from "./price-table.ts";
import { usageOf } from "./usage.ts";
import {
  jobsPerParcelMax,
  millionEvents,
  millionJobs,
  millionRequests,
  millionWebhooks,
  workloadMonth,
} from "./workload.ts";

/** A stack to price, with the template that would be deployed. */
export interface PricedStack {
  /** The stack's name in the report, after "An idle month, ". */
  readonly name: string;
  readonly template: unknown;
  readonly highlyAvailable: boolean;
}

export interface CostParams {
  readonly table: PriceTable;
  /** The stacks whose idle month is reported. */
  readonly stacks: readonly PricedStack[];
  /** The stack that the workload runs on. */
  readonly working: PricedStack;
  readonly schedules: number;
  readonly firesPerDay: number;
  readonly jobsPerParcel: number;
}

export interface Section {
  readonly title: string;
  readonly lines: readonly Line[];
}

export function costs({
  table,
  stacks,
  working,
  schedules,
  firesPerDay,
  jobsPerParcel,
}: CostParams): Section[] {
  const prices = table.usd;
  const usage = usageOf(working.template);
  const { traced, daysKept } = usage;
  const standing: Line = {
    what: "Idle",
    formula: `as above, ${working.name}`,
    usd: total(idleMonth(working.template, prices)),
  };
  const zones = working.highlyAvailable ? 2 : 1;
  const month = workloadMonth(prices, { schedules, firesPerDay, jobsPerParcel, zones, daysKept, traced });
  return [
    ...stacks.map(({ name, template }) => ({
      title: `An idle month, ${name}`,
      lines: idleMonth(template, prices),
    })),
    {
      title: `A million jobs to queues, ${jobsPerParcelMax.fast} to a parcel`,
      lines: millionJobs(prices, jobsPerParcelMax.fast, traced),
    },
    { title: "A million jobs to queues, each alone", lines: millionJobs(prices, 1, traced) },
    { title: "A million events instead of messages", lines: millionEvents(prices) },
    { title: "A million webhooks, answered in 0.3 s", lines: millionWebhooks(prices, traced) },
    { title: "A million requests to the API", lines: millionRequests(prices, usage) },
    {
      title: `A month of ${count(schedules)} schedules, ${count(firesPerDay)} jobs a day, ${count(jobsPerParcel)} to a parcel`,
      lines: [standing, ...month],
    },
  ];
}

export function asMarkdown({ region, asOf, source }: PriceTable, sections: readonly Section[]): string {
  const head = `US dollars, ${region}, ${asOf}. ${source}`;
  return [head, ...sections.map(sectionText)].join("\n\n");
}

function sectionText({ title, lines }: Section): string {
  const rows = lines.map(({ what, formula, usd }) => `| ${what} | ${formula} | ${cents(usd)} |`);
  const sum = `| **Together** | | **${cents(total(lines))}** |`;
  return [`### ${title}`, "", "| what | formula | USD |", "|---|---|---|", ...rows, sum].join("\n");
}

/** Amounts below one dollar get more digits. */
function cents(usd: number): string {
  return usd.toFixed(usd < 1 ? 4 : 2);
}

function count(number: number): string {
  return number.toLocaleString("en-US");
}
