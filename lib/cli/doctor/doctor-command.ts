import { type Call, type Command, command } from "../command.ts";
import { apiUrl, hasLocalApi } from "../connection.ts";
import { devMissing, findPackage } from "../dev/find-package.ts";
import { ProgramEnded, UsageFault } from "../fault.ts";
import { type Colour, printable } from "../output/style.ts";
import { type Check, checksIn } from "./check.ts";
import { checkApi } from "./check-api.ts";

const options = {
  handlers: { value: "file", about: "The module of handlers, as `dev` takes it" },
  schedules: { value: "path", about: "The schedules, as `dev` takes them" },
} as const;

type DoctorCall = Call<keyof typeof options>;

export const doctorCommand: Command = command({
  name: "doctor",
  group: "Local",
  summary: "Say what is wrong with this environment",
  usage: "",
  about:
    "A line for each part: ✓ is well, ✗ is wrong and says what to do, – does not apply here. It looks at this machine, the packages of this project, its handlers, its schedules as `dev` reads them at its start (only a running API knows calendars), and the API, with the events that its schedules send; with --url at a deployment. Docker is not needed. The exit code is 1 if something is wrong.",
  words: { min: 0, max: 0 },
  options,
  examples: ["carillon doctor", "carillon doctor --handlers jobs/handlers.ts --json"],
  run: async (call) => {
    const checks = [node(), packages(call), ...(await local(call)), ...(await api(call))];
    const isWell = checks.every(({ state }) => state !== "wrong");
    if (call.out.isJson) call.out.json({ ok: isWell, checks });
    else show(call, checks);
    if (!isWell) throw new ProgramEnded(1);
  },
});

/** An older Node than is needed has been refused before. */
function node(): Check {
  const { versions, platform, arch } = process;
  return { name: "node", state: "good", text: `${versions.node} on ${platform}-${arch}` };
}

function packages({ version }: DoctorCall): Check {
  const found = ["carillon", "carillon-dev", "carillon-cdk"].map(
    (name) => [name, findPackage(name, process.cwd())?.version ?? null] as const,
  );
  const text = found.map(([name, own]) => `${name} ${own ?? "not installed"}`).join(", ");
  const others = found.filter(([, own]) => own !== null && own !== version);
  if (others.length === 0) return { name: "packages", state: "good", text: `${version}: ${text}` };
  const remedy = `this CLI is ${version}; install the same version of each`;
  return { name: "packages", state: "wrong", text: `${text}: ${remedy}` };
}

/** The checks that need the code of the local stack; its package makes them. */
async function local({ given, programs }: DoctorCall): Promise<Check[]> {
  const found = findPackage("carillon-dev", process.cwd());
  if (found?.program == null) return [{ name: "dev", state: "none", text: devMissing }];
  const args = (["handlers", "schedules"] as const).flatMap((name) =>
    given.texts(name).map((value) => `--${name}=${value}`),
  );
  const { code, out, err } = await programs.read(found.program, ["checks", ...args]);
  const checks = checksIn(out);
  if (code === 0) return checks;
  return [
    ...checks,
    { name: "dev", state: "wrong", text: `carillon-dev cannot check this project: ${saidIn(err)}` },
  ];
}

/** Node prints an error that ends a program below the place in the code; other programs begin with it. */
function saidIn(err: string): string {
  const lines = err.split("\n").filter((line) => line.trim() !== "");
  const ofError = lines.find((line) => /^\w*Error\b[^:]*: /.test(line));
  return ofError?.replace(/^Error\b[^:]*: /, "") ?? lines[0] ?? "it printed nothing";
}

async function api(call: Call): Promise<Check[]> {
  const { given, env, signal, now } = call;
  const isNamed = given.flag("url") || (env["CARILLON_URL"] ?? "") !== "";
  if (!isNamed && !hasLocalApi(env))
    return [{ name: "api", state: "none", text: "none here: carillon dev starts one, --url names another" }];
  try {
    const url = apiUrl(given.text("url"), env);
    return await checkApi({ client: call.client, url, isNamed, signal, now });
  } catch (error) {
    if (error instanceof UsageFault) return [{ name: "api", state: "wrong", text: error.message }];
    throw error;
  }
}

const signs: Readonly<Record<Check["state"], readonly [string, Colour]>> = {
  good: ["✓", "green"],
  wrong: ["✗", "red"],
  none: ["–", "dim"],
};

function show({ out }: DoctorCall, checks: readonly Check[]): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, state, text } of checks) {
    const [sign, colour] = signs[state];
    out.line(`${out.paint(sign, colour)} ${name.padEnd(width)}  ${printable(text)}`);
  }
}
