import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { endOf } from "../local/local-stack.ts";
import { until } from "../support/until.ts";
import { devProgram } from "./project.ts";

/** `carillon-dev` as a process of its own. */
export interface DevProcess {
  child: ChildProcess;
  /** The address that the banner names. */
  api: string;
  printed(): string;
  /** Waits for a line, and returns it. */
  line(pattern: RegExp): Promise<string>;
  request(method: string, where: string, body?: unknown): Promise<Response>;
  end(): Promise<{ code: number | null }>;
}

export const token = "test-token";

/** Without the variables of the surroundings that would change the start. */
export function devEnvironment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { DATABASE_URL: _, npm_lifecycle_event: __, ...inherited } = process.env;
  const others = Object.entries(inherited).filter(([name]) => !name.startsWith("CARILLON_"));
  return { ...Object.fromEntries(others), CARILLON_TOKEN: token, ...env };
}

export interface DevParts {
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Another program than that of this repository, and its first arguments. */
  program?: readonly [string, ...string[]];
}

export function spawnDev(folder: string, { args = [], env, program }: DevParts = {}): ChildProcess {
  const [file, ...first] = program ?? [devProgram];
  return spawn(process.execPath, [file, ...first, ...args], {
    cwd: folder,
    env: devEnvironment(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Resolves when the banner is printed. */
export async function startDev(folder: string, parts: DevParts = {}): Promise<DevProcess> {
  const child = spawnDev(folder, parts);
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null) createInterface(stream).on("line", (line) => lines.push(line));
  const line = (pattern: RegExp) =>
    until(`a line matches ${pattern}`, async () => {
      if (child.exitCode !== null) throw new Error(`It has ended:\n${lines.join("\n")}`);
      return lines.find((each) => pattern.test(each));
    });
  await line(/^data {7}/);
  const api = /^api +(\S+)/.exec(await line(/^api {8}/))?.[1] ?? "";
  return {
    child,
    api,
    printed: () => lines.join("\n"),
    line,
    request: (method, where, body) =>
      fetch(`${api}${where}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    end: () => endOf(child, "SIGTERM"),
  };
}

/** The output and the exit code of a start that ends by itself. */
export async function failedDev(
  folder: string,
  parts: DevParts = {},
): Promise<{ code: number | null; said: string }> {
  const child = spawnDev(folder, parts);
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, said: said.trim() };
}
