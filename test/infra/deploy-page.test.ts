import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { stackSettings } from "../../infra/settings/stack.ts";
import { defaultSettings, settingsShape } from "../../infra/settings.ts";
import { bulkMax } from "../../lib/api/request/job-filter.ts";
import { bodyBytesMax, bodyValuesMax } from "../../lib/api/request/json-body.ts";
import { batchMax } from "../../lib/api/routes/batch-routes.ts";
import { forecastMinutesMax } from "../../lib/api/routes/forecast-routes.ts";
import { jobsReplacedMax } from "../../lib/batch/jobs-budget.ts";
import { labelsMax } from "../../lib/batch/lock-many.ts";
import { inputDepthMax } from "../../lib/command/json-depth.ts";
import { attemptsMax, sendingTimeouts } from "../../lib/config/aws.ts";
import { answerMs } from "../../lib/config/function-connections.ts";
import {
  functionTimeoutSeconds,
  ingestRetentionDays,
  targetWindow,
} from "../../lib/config/function-limits.ts";
import { openJobsMax } from "../../lib/history/open-jobs.ts";
import { commandsMax } from "../../lib/ingest/received.ts";
import { rememberedDays } from "../../lib/ingest/understand.ts";
import { lightBytes } from "../../lib/parcel/heavy-payloads.ts";
import { parcelMax } from "../../lib/parcel/parcel-queue.ts";
import { passedSinglyMax } from "../../lib/plan/instants.ts";
import { jsonDepthMax } from "../../lib/schedule/shape/json.ts";
import { keyLengthMax } from "../../lib/schedule/shape/schedule-key.ts";
import { payloadBytesMax } from "../../lib/schedule/shape/schedule-shape.ts";
import { attributeBytesMax, attributesMax, placeLengthMax } from "../../lib/schedule/shape/target-shape.ts";
import { whensMax } from "../../lib/schedule/shape/timing-shape.ts";
import { sharedHoldsMax } from "../../lib/schedule/shared-holds.ts";
import { forecastDaysMax } from "../../lib/stats/forecast.ts";
import { tickDefaults } from "../../lib/tick/tick.ts";
import { secretsMax } from "../../lib/token/token-edits.ts";
import { tokenNameMax } from "../../lib/token/token-name.ts";
import { groupBytes, pageBytes, pagesMax } from "../../lib/worker/deliver-in-pages.ts";
import { membersOf } from "../support/construct-page.ts";
import { synthesised } from "./synthesised.ts";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
const page = read("docs/deploy.md");

const count = (number: number) => number.toLocaleString("en-US");
const { slowConcurrency, fastConcurrency, ingestConcurrency, apiRequestBurst } = defaultSettings;

const methodsOfHandlers = membersOf("functions/handlers.ts", "Handlers").map(
  ({ name }) => name.split("(")[0] ?? "",
);

/** The names of the properties that an app passes beside the settings. */
function partsOf(declared: string): string[] {
  return membersOf("parts.ts", declared).map(({ name }) => name);
}

/** Every limit on the page, read from the code that enforces it. */
const limits: readonly (readonly [what: string, is: string])[] = [
  ["Characters of a key or the name of a group", count(keyLengthMax)],
  ["Characters of the name, URL or ARN of a queue, bus or function", count(placeLengthMax)],
  ["Payload, as the JSON that is sent", `${payloadBytesMax / 1024} KB, ${jsonDepthMax} levels deep`],
  [
    "Attributes of a queue's message; bytes of all, with names and types",
    `${attributesMax}; ${count(attributeBytesMax)}`,
  ],
  ["Expressions in one `when`", count(whensMax)],
  [
    "Body of a request",
    `${bodyBytesMax / 1024 ** 2} MB, ${inputDepthMax} levels deep, ${count(bodyValuesMax)} values`,
  ],
  ["Operations in one batch", count(batchMax)],
  ["Different groups and tags of an all-or-nothing batch", count(labelsMax.allOrNothing)],
  [
    "Jobs that a transaction of a batch replaces; that an atomic batch replaces",
    `${count(jobsReplacedMax.divided)}; ${count(jobsReplacedMax.allOrNothing)}`,
  ],
  ["Jobs that one bulk request cancels or retries", count(bulkMax)],
  [
    "Minutes of a forecast; days ahead at which it begins",
    `${count(forecastMinutesMax)}; ${forecastDaysMax}`,
  ],
  ["Time for a request", `${functionTimeoutSeconds.api} s`],
  [
    "Time that SQS and EventBridge have for an answer; attempts",
    `${sendingTimeouts.requestTimeout / 1_000} s; ${attemptsMax}`,
  ],
  [
    "Time that a function waits for an answer of the database; that a tick waits",
    `${answerMs.others / 1_000} s; ${answerMs.tick / 1_000} s`,
  ],
  ["Name of a token; secrets that it has at once", `${tokenNameMax} characters; ${secretsMax}`],
  ["Commands in one message", count(commandsMax)],
  [
    "Days that a command waits in its queue; that an overtaken one is remembered",
    `${ingestRetentionDays}; ${rememberedDays}`,
  ],
  [
    "Jobs in one parcel, for queues and buses; for handlers, functions and webhooks",
    `${parcelMax.fast}; ${parcelMax.slow}`,
  ],
  [
    `Payloads above ${lightBytes / 1024} KB that a worker has in memory at once; that a handler gets for its group in one call`,
    `${pagesMax} × ${pageBytes / 2 ** 20} MiB; ${groupBytes / 2 ** 20} MiB`,
  ],
  [
    `Slow workers that one target has at once, of the default's ${slowConcurrency}`,
    count(targetWindow(slowConcurrency)),
  ],
  ["Occurrences passed over that are recorded one by one; more are one range", count(passedSinglyMax)],
  ["Waiting jobs that one answer lists", count(openJobsMax)],
  ["Holds by prefix that one group or tag has", count(sharedHoldsMax)],
  ["Days that jobs are kept, by default", count(tickDefaults.retentionDays)],
];

describe("docs/deploy.md", () => {
  test("docs/deploy.md has every limit of the code", () => {
    const table = page.split("\n## Limits\n")[1]?.split("\n## ")[0] ?? "";
    const rows = [...table.matchAll(/^\| (.+?) \| (.+?) \|$/gm)].map(([, what, is]) => [what, is]);
    expect(rows.slice(1)).toEqual(limits.map((limit) => [...limit]));
  });

  test("docs/deploy.md names only existing settings and scripts", () => {
    const known = [...Object.keys(settingsShape.shape), ...Object.keys(stackSettings)];
    const settings = [...page.matchAll(/carillon:(\w+)/g)].map(([, name]) => name);
    expect(settings.length).toBeGreaterThan(3);
    for (const name of settings) expect(known).toContain(name);
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read("package.json")));
    for (const [, script = ""] of page.matchAll(/npm run ([\w:]+)/g))
      expect(Object.keys(scripts)).toContain(script);
    // Words in code format that look like settings.
    const words = [...page.matchAll(/`([a-z]+[A-Z]\w+)`/g)].map(([, word]) => word);
    const properties = [...partsOf("CarillonParts"), ...partsOf("CarillonResources"), ...methodsOfHandlers];
    expect(words.filter((word = "") => !known.includes(word) && !properties.includes(word))).toEqual([]);
  });

  test("docs/deploy.md has the defaults' number of concurrent functions", () => {
    const wanted = slowConcurrency + fastConcurrency + ingestConcurrency + apiRequestBurst + 2;
    expect(page).toContain(`| Lambda, concurrent executions | ${wanted} by default`);
  });

  test("docs/deploy.md names the stack's outputs, and the resources that remain after its deletion", () => {
    const stack = synthesised();
    const outputs = Object.keys(stack.template.findOutputs("*"));
    for (const name of outputs) expect(page).toContain(name);
    const asked = [...page.matchAll(/\$\(output (\w+)\)/g)].map(([, name]) => name);
    expect(asked).toEqual(["ApiUrl", "AdminTokenSecret", "PageUrl"]);
    for (const name of asked) expect(outputs).toContain(name);
    const left = Object.values(stack.resources).filter(
      ({ DeletionPolicy = "Delete" }) => DeletionPolicy !== "Delete",
    );
    const told = [...page.matchAll(/^\|.*\(`(AWS::[\w:]+)`\).*\|$/gm)].map(([, type]) => type);
    expect(told.toSorted()).toEqual([...new Set(left.map(({ Type }) => Type))].toSorted());
  });
});
