import { runNode } from "./run-node.ts";

export interface Counted {
  name: string;
  /** How often a function, a branch or the body of a loop in lib/ was entered. */
  steps: number;
}

/**
 * Runs the `cases` that a module exports, one after the other, and counts the steps of each. Unlike
 * milliseconds, steps are the same on every machine. They are counted in a process of its own: code
 * that was compiled before the counting begins is counted coarsely.
 */
export async function countedSteps(module: URL, env: Record<string, string> = {}): Promise<Counted[]> {
  const seed = process.env["CARILLON_SEED"];
  const printed = await runNode(counting(module.href), {
    ...(seed === undefined ? {} : { CARILLON_SEED: seed }),
    ...env,
  });
  const counted: Counted[] = JSON.parse(printed);
  if (counted.every(({ steps }) => steps === 0)) throw new Error(`No step of ${module.href} was counted.`);
  return counted;
}

const library = new URL("../../lib/", import.meta.url).href;

const counting = (module: string) => `
  import { Session } from "node:inspector";
  const session = new Session();
  session.connect();
  const post = (method, params) => {
    let answered;
    session.post(method, params, (error, answer) => {
      if (error !== null) throw new Error(method + ": " + error.message);
      answered = answer;
    });
    return answered;
  };
  post("Profiler.enable");
  post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  // Counts since the last call.
  const taken = () => {
    let steps = 0;
    for (const { url, functions } of post("Profiler.takePreciseCoverage").result)
      if (url.startsWith(${JSON.stringify(library)}))
        for (const { ranges } of functions) for (const { count } of ranges) steps += count;
    return steps;
  };
  const { cases } = await import(${JSON.stringify(module)});
  const counted = [];
  for await (const [name, act] of cases()) {
    taken();
    await act();
    counted.push({ name, steps: taken() });
  }
  console.log(JSON.stringify(counted));
`;
