import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { type RunReport, reportVariable } from "../gate/report.ts";
import { areas } from "./areas.ts";
import { type Mutant, mutatedFiles, repository } from "./mutant.ts";

const help = `npm run mutants [-- AREA ...] [--only TEXT]

  Removes one safeguard after the other in a copy of the code and runs its tests. Each removal must make a test fail.
  Areas: ${Object.keys(areas).join(", ")} (all of them)

  --only TEXT   only mutants whose name contains this`;

/**
 * A mutant can make a test wait for ever. After this time the run is ended and the mutant counts as
 * noticed.
 */
const runMsMax = 5 * 60_000;

const say = (line: string) => process.stdout.write(`${line}\n`);

/** Copies tracked and new files, without ignored ones. */
async function copyOfRepository(): Promise<string> {
  const copy = await mkdtemp(path.join(tmpdir(), "carillon-mutants-"));
  const listed = await output("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
  for (const file of listed.split("\0").filter((each) => each !== "")) {
    await mkdir(path.dirname(path.join(copy, file)), { recursive: true });
    await cp(path.join(repository, file), path.join(copy, file)).catch((error: NodeJS.ErrnoException) => {
      // Deleted and not committed yet.
      if (error.code !== "ENOENT") throw error;
    });
  }
  await symlink(path.join(repository, "node_modules"), path.join(copy, "node_modules"));
  return copy;
}

async function output(command: string, args: string[]): Promise<string> {
  const child = spawn(command, args, { cwd: repository, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}`);
  return text;
}

/** The first failure, or null when everything passed. */
async function firstFailure(copy: string, tests: readonly string[]): Promise<string | null> {
  const report = path.join(copy, "report.json");
  await rm(report, { force: true });
  const args = [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--bail=1",
    "--reporter=./test/gate/report.ts",
    ...tests,
  ];
  const child = spawn(process.execPath, args, {
    cwd: copy,
    stdio: "ignore",
    // A server could outlive its vitest, so the whole process group is ended.
    detached: true,
    env: { ...process.env, [reportVariable]: report, CARILLON_UNTIL_MS: "10000" },
  });
  const end = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
  const late = setTimeout(end, runMsMax);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearTimeout(late);
  if (code === 0) return null;
  if (code === null) return `no end within ${runMsMax / 60_000} minutes`;
  const found: RunReport = JSON.parse(
    await readFile(report, "utf8").catch(() => '{"files":[],"tests":[],"unhandled":[]}'),
  );
  const test = found.tests.find(({ ending }) => ending === "failed");
  return test === undefined ? "outside of a test" : `${test.file} > ${test.name}`;
}

interface Result {
  mutant: Mutant;
  failure: string | null;
}

async function tryMutant(copy: string, mutant: Mutant): Promise<Result> {
  const files = await mutatedFiles(mutant);
  for (const [file, text] of files) await writeFile(path.join(copy, file), text);
  const failure = await firstFailure(copy, mutant.tests);
  for (const file of files.keys()) await cp(path.join(repository, file), path.join(copy, file));
  return { mutant, failure };
}

/** A survivor without an explanation, or an explanation although a test noticed the mutant. */
const isWrong = ({ mutant, failure }: Result) => (failure === null) !== (mutant.equivalent !== undefined);

function lineOf({ mutant, failure }: Result): string {
  if (failure === null && mutant.equivalent !== undefined)
    return `equivalent  ${mutant.name}: ${mutant.equivalent}`;
  if (failure === null)
    return `SURVIVED    ${mutant.name} (${mutant.file}): no test of ${mutant.tests.join(", ")} fails`;
  return `${mutant.equivalent === undefined ? "noticed " : "NOT EQUIVALENT"}    ${mutant.name}: ${failure}`;
}

async function run(names: readonly string[], only: string): Promise<number> {
  const mutants = names.flatMap((name) => areas[name] ?? []).filter(({ name }) => name.includes(only));
  if (mutants.length === 0) {
    say(`No mutant of ${names.join(", ")} has ${JSON.stringify(only)} in its name.`);
    return 2;
  }
  const copy = await copyOfRepository();
  try {
    const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))];
    const red = await firstFailure(copy, tests);
    if (red !== null) {
      say(`A test fails even without a mutant: ${red}`);
      return 1;
    }
    const wrong: Result[] = [];
    for (const mutant of mutants) {
      const result = await tryMutant(copy, mutant);
      say(lineOf(result));
      if (isWrong(result)) wrong.push(result);
    }
    say(`${mutants.length} mutants, ${wrong.length} unexplained`);
    for (const result of wrong) say(lineOf(result));
    return wrong.length === 0 ? 0 : 1;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string", default: "" }, help: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => areas[name] === undefined);
if (values.help || unknown.length > 0) {
  process.stderr.write(`${help}\n`);
  process.exitCode = values.help ? 0 : 2;
} else process.exitCode = await run(positionals.length === 0 ? Object.keys(areas) : positionals, values.only);
