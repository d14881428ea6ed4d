import type { LoadedStack } from "./loaded-stack.ts";
import { type ProcessUse, processUse, singleUse } from "./processes.ts";
import { type DatabaseState, databaseState } from "./tables.ts";

/** The state of the stack at one moment. */
export interface Sample extends DatabaseState {
  at: number;
  /**
   * The stack's process, and Postgres with all its processes; null where the system does not report
   * them.
   */
  stack: ProcessUse | null;
  postgres: ProcessUse | null;
}

export async function sample({ sql, pids }: LoadedStack): Promise<Sample> {
  const at = Date.now();
  const [state, stack, postgres] = await Promise.all([
    databaseState(sql),
    singleUse(pids.stack),
    processUse(pids.postgres),
  ]);
  return { at, ...state, stack, postgres };
}

/** Takes one sample at the end of each slice, until the time is over or the stack ends. */
export async function sampleEach(
  stack: LoadedStack,
  { from, to, sliceMs }: { from: number; to: number; sliceMs: number },
  onSample: (sample: Sample) => void,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let at = from; at <= to; at += sliceMs) {
    const wait = new Promise((resolve) => setTimeout(resolve, Math.max(0, at - Date.now())));
    await Promise.race([wait, stack.ended]);
    const taken = await sample(stack);
    samples.push(taken);
    onSample(taken);
  }
  return samples;
}
