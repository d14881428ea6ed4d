import { idleMonth } from "./idle-month.ts";
import { type Line, total } from "./line.ts";
import type { PriceTable } from "./price-table.ts";
import {
  jobsPerParcelMax,
  millionEvents,
  millionJobs,
  millionRequests,
  millionWebhooks,
  workloadMonth,
} from "./workload.ts";

export interface Asked {
  readonly table: PriceTable;
  readonly smallest: unknown;
  readonly available: unknown;
  readonly schedules: number;
  readonly firesPerDay: number;
  readonly jobsPerParcel: number;
  /** Whether the month of this workload is one of the highly available setting. */
  readonly highlyAvailable: boolean;
}

export interface Section {
  readonly title: string;
  readonly lines: readonly Line[];
}

export function costs(asked: Asked): Section[] {
  const { table, schedules, firesPerDay, jobsPerParcel, highlyAvailable } = asked;
  const prices = table.usd;
  const smallest = idleMonth(asked.smallest, prices);
  const available = idleMonth(asked.available, prices);
  const standing: Line = {
    what: "Idle",
    formula: highlyAvailable ? "as above, highly available" : "as above, smallest",
    usd: total(highlyAvailable ? available : smallest),
  };
  const month = workloadMonth(prices, {
    schedules,
    firesPerDay,
    jobsPerParcel,
    zones: highlyAvailable ? 2 : 1,
  });
  return [
    { title: "An idle month, smallest", lines: smallest },
    { title: "An idle month, highly available", lines: available },
    {
      title: `A million jobs to queues, ${jobsPerParcelMax.fast} to a parcel`,
      lines: millionJobs(prices, jobsPerParcelMax.fast),
    },
    { title: "A million jobs to queues, each alone", lines: millionJobs(prices, 1) },
    { title: "A million events instead of messages", lines: millionEvents(prices) },
    { title: "A million webhooks, answered in 0.3 s", lines: millionWebhooks(prices) },
    { title: "A million requests to the API", lines: millionRequests(prices) },
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

/** What is less than a dollar shows more of itself. */
function cents(usd: number): string {
  return usd.toFixed(usd < 1 ? 4 : 2);
}

function count(number: number): string {
  return number.toLocaleString("en-US");
}
