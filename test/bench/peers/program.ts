import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import * as z from "zod";

/** The command that starts a contender's program. */
export interface Command {
  file: string;
  args: readonly string[];
  cwd: string;
  env?: Readonly<Record<string, string>>;
}

/** One process's report of its jobs; instants are milliseconds on this machine's clock. */
export interface RunReport {
  runs: number;
  firstAt: number;
  lastAt: number;
  /** One bit per job, in base64. */
  seen: string;
}

const answerShape = z.union([
  z.strictObject({ error: z.string() }),
  z.strictObject({ installed: z.literal(true) }),
  z.strictObject({ storedMs: z.number() }),
  z.strictObject({ ready: z.literal(true) }),
  z.strictObject({ ran: z.number() }),
  z.strictObject({ left: z.boolean() }),
  z.strictObject({ did: z.string() }),
  z.strictObject({
    stopped: z.strictObject({ runs: z.number(), firstAt: z.number(), lastAt: z.number(), seen: z.string() }),
  }),
]);
type Answer = z.output<typeof answerShape>;

/** One process of a contender: it reads one line at a time and answers with one line of JSON. */
export interface Program {
  install(url: string): Promise<void>;
  store(url: string, count: number, at: number): Promise<number>;
  work(url: string, count: number, progress: (ran: number) => void): Promise<void>;
  /** The runs until now were warm-up. */
  forget(): Promise<void>;
  isLeft(url: string): Promise<boolean>;
  /** An additional command of the contender. */
  tell(word: string, url: string): Promise<void>;
  stop(): Promise<RunReport>;
  end(): Promise<void>;
}

const patienceMs = 300_000;
const endPatienceMs = 5_000;

export function startProgram({ file, args, cwd, env }: Command): Program {
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const asks = conversation(child);
  const expectWord = async <Word extends string>(word: Word, line: string) => {
    const answer = await asks.ask(line);
    if (word in answer) return answer;
    throw new Error(`"${line.split(" ")[0]}" was answered ${JSON.stringify(answer)}.`);
  };
  return {
    install: async (url) => void (await expectWord("installed", `install ${url}`)),
    store: async (url, count, at) => {
      const answer = await expectWord("storedMs", `store ${url} ${count} ${at}`);
      return "storedMs" in answer ? answer.storedMs : Number.NaN;
    },
    work: async (url, count, progress) => {
      asks.onProgress(progress);
      await expectWord("ready", `work ${url} ${count}`);
    },
    forget: async () => void (await expectWord("did", "forget")),
    isLeft: async (url) => {
      const answer = await expectWord("left", `left ${url}`);
      return "left" in answer && answer.left;
    },
    tell: async (word, url) => void (await expectWord("did", `${word} ${url}`)),
    stop: async () => {
      const answer = await expectWord("stopped", "stop");
      if (!("stopped" in answer)) throw new Error("It has not reported its runs.");
      return answer.stopped;
    },
    end: () => end(child),
  };
}

function conversation(child: ChildProcess) {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("A program has no pipes.");
  let waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;
  let progress = (_: number) => {};
  const fail = (error: Error) => {
    waiting?.reject(error);
    waiting = undefined;
  };
  createInterface({ input: stdout }).on("line", (line) => {
    const answer = answerOf(line);
    if ("ran" in answer) return progress(answer.ran);
    if ("error" in answer) return fail(new Error(answer.error));
    waiting?.resolve(answer);
    waiting = undefined;
  });
  child.once("error", fail);
  child.once("exit", (code, signal) => fail(new Error(`${child.spawnfile} has ended (${signal ?? code}).`)));
  // Writing to a program that has ended fails; the failure is reported by its exit.
  stdin.on("error", () => {});
  return {
    onProgress: (told: (ran: number) => void) => {
      progress = told;
    },
    ask: (line: string) =>
      new Promise<Answer>((resolve, reject) => {
        if (child.exitCode !== null) throw new Error(`${child.spawnfile} has ended (${child.exitCode}).`);
        const patience = setTimeout(
          () => fail(new Error(`"${line}" was not answered in ${patienceMs / 1_000} s.`)),
          patienceMs,
        );
        const settled = () => clearTimeout(patience);
        waiting = {
          resolve: (answer) => {
            settled();
            resolve(answer);
          },
          reject: (error) => {
            settled();
            reject(error);
          },
        };
        stdin.write(`${line}\n`);
      }),
  };
}

function answerOf(line: string): Answer {
  try {
    return answerShape.parse(JSON.parse(line));
  } catch {
    return { error: `It wrote an invalid answer: ${line.slice(0, 500)}` };
  }
}

/** A program ends when its standard input is closed. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.stdin?.end();
  const hurry = setTimeout(() => child.kill("SIGKILL"), endPatienceMs);
  await exited;
  clearTimeout(hurry);
}
