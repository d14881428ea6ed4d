import { App, Stack } from "aws-cdk-lib";
import { expect, test } from "vitest";
import { settingsShape } from "../../infra/settings.ts";
import { logsLinkFault, logsLinkOf } from "../../lib/config/logs-link.ts";

const work = {
  jobId: "42-1774746000000-c0",
  key: `billing:"eu" 100%'*&{to}/#é`,
  from: new Date("2026-03-29T01:00:00.000Z"),
  to: new Date("2026-03-29T01:02:30.500Z"),
};

test.each([
  [
    "https://logs.example.com/search?q=job:{jobId}&from={from}&to={to}",
    "https://logs.example.com/search?q=job:42-1774746000000-c0&from=2026-03-29T01%3A00%3A00.000Z&to=2026-03-29T01%3A02%3A30.500Z",
  ],
  [
    "http://localhost:3000/explore?left=%7B%22range%22:%7B%22from%22:%22{fromMs}%22,%22to%22:%22{toMs}%22%7D%7D",
    "http://localhost:3000/explore?left=%7B%22range%22:%7B%22from%22:%221774746000000%22,%22to%22:%221774746150500%22%7D%7D",
  ],
  [
    "https://logs.example.com/{key}",
    "https://logs.example.com/billing%3A%22eu%22%20100%25%27%2A%26%7Bto%7D%2F%23%C3%A9",
  ],
  [
    "https://eu-west-1.console.aws.amazon.com/home#~(start~'{from*}~key~'{key*})",
    "https://eu-west-1.console.aws.amazon.com/home#~(start~'2026-03-29T01*3a00*3a00.000Z~key~'billing*3a*22eu*22*20100*25*27*2a*26*7bto*7d*2f*23*c3*a9)",
  ],
])(
  "Each value in a link to logs is encoded, so that it ends no part of the address: %s",
  (template, href) => {
    expect(logsLinkFault(template)).toBeNull();
    expect(logsLinkOf(template, work)).toBe(href);
  },
);

test.each([
  ["http://logs.example.com/{jobId}", "it takes an https address"],
  ["http://localhost.example.com/{jobId}", "it takes an https address"],
  ["javascript:alert(1)//{jobId}", "it takes an https address"],
  ["//logs.example.com/{jobId}", "it takes an https address"],
  ["https://{key}.example.com/", "placeholders come after the host"],
  ["https://user:secret@logs.example.com/{jobId}", "it takes an https address"],
  ["https://logs.example.com/a b", "it takes an https address"],
  ["", "it takes an https address"],
  ["https://logs.example.com/{job}", "it has no placeholder {job}; it takes {jobId}, {key}, {from}, {to}"],
  ["https://logs.example.com/{constructor}", "it has no placeholder {constructor}"],
  ['https://logs.example.com/?q={"job":"{jobId}"}', "write another brace as %7B or %7D"],
  [`https://logs.example.com/${"x".repeat(1_000)}`, "it takes at most 800 characters"],
])("A template of links to logs that is no safe address is refused: %s", (template, sentence) => {
  expect(logsLinkFault(template)).toContain(sentence);
});

test("A link to logs may contain CDK tokens, but not in place of its scheme", () => {
  const { region } = new Stack(new App(), "Some");
  const refused = (pageLogsLink: string) => !settingsShape.safeParse({ pageLogsLink }).success;
  expect(refused(`https://${region}.logs.example.com/{jobId}`)).toBe(false);
  expect(refused(`${region}//logs.example.com/{jobId}`)).toBe(true);
});
