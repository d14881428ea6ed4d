import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { repository, withMess } from "./mess-process.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";

export const does =
  "the commands that answer an engineer on call, each in a process, on a mess among millions";

export const options = { schedules: "3000000", jobs: "10000000", runs: "5" };

const cli = path.join(repository, "dist/packages/carillon/cli.js");

/** The commands of docs/operate.md by question. `{group}`, `{late}` and `{dead}` stand for ids of the mess. */
const questions: Readonly<Record<string, string>> = {
  "nothing: the start of the CLI": "help",
  "is it on time, what is wrong": "status",
  "counts of the last minutes": "stats",
  "which schedules fail": "ls --failing",
  "the last hour, minute by minute": "series --last 1h",
  "the last hour of a team": "series --prefix crm: --last 1h",
  "which errors": "errors",
  "which jobs have this error": "jobs --state dead --error-group {group}",
  "retry these (dry run)": "retry --error-group {group} --dry-run",
  "why did it run late": "explain {late}",
  "why is it dead": "explain {dead}",
  "where was the time lost": "outages",
  "the runs of one schedule": "strip crm:contact:1 --from 2d_ago",
  "what runs on Monday at nine": "agenda Mon_08:55..09:05 --timezone Europe/Berlin",
  "how much runs on Monday at nine": "agenda Mon_08:55..09:05 --timezone Europe/Berlin --count",
  "what of a team runs on Monday at nine": "agenda Mon_08:55..09:05 --timezone Europe/Berlin --prefix crm:",
  "how heavy are the next hours": "forecast --minutes 240",
  "how heavy with a spread": "forecast --minutes 240 --spread 10m",
  "which teams are heavy": "forecast --minutes 240 --by prefix",
  "who changed it": "versions crm:contact:1",
  "the old version back (dry run)": "restore crm:contact:1 1 --dry-run",
  "pause a team (dry run)": "pause --prefix crm: --reason bench --dry-run",
  "what is on hold": "holds",
  "what may my token": "whoami",
};

/** Runs the mess among quiet schedules, then each command some times: the wall time of its process. */
export async function bench(options: Options, say: Say): Promise<Figures> {
  if (!existsSync(cli)) throw new Error(`${cli} is missing: \`npm run build\` makes it.`);
  say(machine());
  const figures: Record<string, { median: number; most: number }> = {};
  await withMess(options, say, async ({ env, url }) => {
    const ask = asker({ ...env, CARILLON_URL: url });
    const ids = await idsOf(ask);
    const measured = await inRounds(ask, ids, number(options, "runs"));
    for (const [question, { command, ms }] of measured) {
      figures[question] = { median: median(ms), most: Math.max(...ms) };
      say(
        `${question.padEnd(38)} ${`${median(ms)} ms`.padStart(8)}, at most ${Math.max(...ms)} ms: ${command}`,
      );
    }
  });
  return { figures, machine: machine(), schedules: options["schedules"], jobs: options["jobs"] };
}

interface Measured {
  command: string;
  ms: number[];
}

/**
 * Asks all questions once in each round, with a pause of several seconds between rounds. The mess
 * works in bursts of a few seconds, and one burst must not slow down all runs of one question.
 */
async function inRounds(
  ask: Ask,
  ids: Readonly<Record<string, string>>,
  rounds: number,
): Promise<Map<string, Measured>> {
  const measured = new Map(
    Object.entries(questions).map(([question, command]): [string, Measured] => {
      const filled = command.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "");
      return [question, { command: filled, ms: [] }];
    }),
  );
  for (let round = 0; round < rounds; round++) {
    if (round > 0) await setTimeout(betweenRoundsMs);
    for (const { command, ms } of measured.values()) ms.push((await ask(command)).ms);
  }
  return measured;
}

const betweenRoundsMs = 7_000;

type Ask = (command: string) => Promise<{ ms: number; out: string }>;

const run = promisify(execFile);

/** Underscores stand for the blanks of one argument. `status` ends with 1 if something is wrong. */
function asker(env: NodeJS.ProcessEnv): Ask {
  return async (command) => {
    const from = performance.now();
    const asked = command.split(" ").map((each) => each.replaceAll("_", " "));
    const { stdout } = await run(process.execPath, [cli, ...asked], { env, maxBuffer: 64 * 2 ** 20 }).catch(
      (error: { code?: number; stdout: string; stderr: string }) => {
        if (asked[0] === "status" && error.stderr === "") return { stdout: error.stdout };
        throw new Error(`carillon ${command} failed: ${error.stderr}`);
      },
    );
    return { ms: Math.round(performance.now() - from), out: stdout };
  };
}

/** The largest error group, a dead job, and the job of the mess that started latest after its due time. */
async function idsOf(ask: Ask): Promise<Record<string, string>> {
  const list = async <Row>(command: string): Promise<Row[]> =>
    (await ask(`${command} --json`)).out
      .split("\n")
      .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Row]));
  const [group] = await list<{ errorGroup: string }>("errors -n 1");
  const [dead] = await list<{ id: string }>("jobs --state dead --prefix billing: -n 1");
  const ran = await list<Ran>("jobs --state succeeded --prefix order: -n 500");
  const late = ran.reduce<Ran | undefined>(
    (latest, job) => (latest === undefined || lateBy(job) > lateBy(latest) ? job : latest),
    undefined,
  );
  if (group === undefined || dead === undefined || late === undefined)
    throw new Error("The mess has no error group, no dead job, or no job that ran.");
  return { group: group.errorGroup, dead: dead.id, late: late.id };
}

interface Ran {
  id: string;
  dueAt: string;
  startedAt: string;
}

const lateBy = ({ dueAt, startedAt }: Ran) => Date.parse(startedAt) - Date.parse(dueAt);
