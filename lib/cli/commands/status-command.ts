import type { Problems } from "../../client/main.ts";
import { command } from "../command.ts";
import { NotOnTime } from "../fault.ts";
import type { Output } from "../output/output.ts";
import { type Colour, printable } from "../output/style.ts";

export const statusCommand = command({
  name: "status",
  group: "Operation",
  summary: "Show whether jobs run on time, and what needs attention, the worst first",
  usage: "",
  about:
    "The exit code is 0 if jobs run on time, 12 if they are late, and 13 if no tick or no worker runs. With --strict it is 11 if jobs run on time but something needs attention.",
  words: { min: 0, max: 0 },
  options: { strict: { about: "Exit with 11 if something needs attention" } },
  examples: ["carillon status", "carillon status --strict --json"],
  run: async ({ client, given, out, signal }) => {
    const found = await client.problems({ signal });
    showProblems(out, found);
    const { verdict, text, problems } = found;
    if (verdict !== "on-time") throw new NotOnTime(verdict, text);
    if (given.flag("strict") && problems.length > 0) throw new NotOnTime("problems", text);
  },
});

const colours: Readonly<Record<Problems["verdict"], Colour>> = {
  "on-time": "green",
  late: "yellow",
  stopped: "red",
};

function showProblems(out: Output, found: Problems): void {
  if (out.isJson) {
    out.json(found);
    return;
  }
  const { asOf, problems } = found;
  const { text, colour } = headline(found);
  out.line(
    `${out.paint(printable(out.times.inSentence(text)), colour)} (${out.times.wall(asOf)} ${out.times.zone})`,
  );
  if (problems.length === 0) out.line("Nothing needs attention.");
  const told = problems.find(({ text: what }) => text.endsWith(what));
  if (told !== undefined) showFacts(out, told);
  for (const each of problems) {
    if (each === told) continue;
    out.line();
    out.line(printable(out.times.inSentence(each.text)));
    showFacts(out, each);
  }
}

type Problem = Problems["problems"][number];

/**
 * The verdict is about jobs alone. Locks of another login stop edits before a job is late, so the headline
 * names them too.
 */
function headline({ verdict, text, problems }: Problems): { text: string; colour: Colour } {
  const locks = verdict === "on-time" ? problems.find(({ kind }) => kind === "foreign-locks") : undefined;
  if (locks === undefined) return { text, colour: colours[verdict] };
  return { text: `Jobs are on time, and edits may be stopped. ${locks.text}`, colour: "yellow" };
}

function showFacts(out: Output, { kind, since, sample, command: next }: Problem): void {
  const noun = sampleNouns[kind];
  const facts = [
    ...(since === null ? [] : [`since ${out.times.both(since)}`]),
    ...(sample === null || noun === null ? [] : [`such as ${noun} ${sample}`]),
  ];
  if (facts.length > 0) out.line(`  ${printable(facts.join(", "))}`);
  // No command ends the session of another login.
  out.line(`  ${kind === "foreign-locks" ? "docs/runbook.md#database-locks-held" : printable(next)}`);
}

/** The noun of a problem's sample; null where the sentence names the sample already, or there is none. */
const sampleNouns: Readonly<Record<Problem["kind"], string | null>> = {
  "no-tick": null,
  "foreign-locks": null,
  "plan-behind": null,
  "no-worker": "job",
  "late-jobs": "job",
  "backlog-full": "schedule",
  "move-unfinished": null,
  "target-full": "job",
  "dead-jobs": "job",
  missed: null,
  "pulses-lost": null,
  outages: null,
  "dead-commands": "command",
  "inbox-errors": "command",
  quarantine: "row",
  "old-holds": "the hold of",
};
