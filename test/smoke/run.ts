import { CarillonProblem } from "../../lib/client/request/problem.ts";
import { smoke } from "./smoke.ts";
import { smokeSettings } from "./smoke-settings.ts";

const say = (line: string) => process.stdout.write(`${line}\n`);

try {
  await smoke(await smokeSettings(process.env), (step, mark = "ok") => say(`${mark}  ${step}`));
  say("The whole way works.");
} catch (error) {
  say(`not ok  ${describe(error)}`);
  process.exitCode = 1;
}

function describe(error: unknown): string {
  if (error instanceof CarillonProblem) return `${error.status} ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
