import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import { InvokeStore } from "@aws/lambda-invoke-store";

/** Lambda's limit for the invocations of one function that one event leads to. */
export const chainMax = 16;

/** The trace header of what runs. */
const running = new AsyncLocalStorage<string | undefined>();

/** Lambda's runtime keeps the trace of an invocation in this store, where clients of the SDK read it. */
const known = InvokeStore.getInstanceAsync().then((store) => {
  store.getXRayTraceId = () => running.getStore();
});

/** The event is not processed: a function that it leads back to has been invoked too often. */
export class ChainEnded extends Error {
  override readonly name = "ChainEnded";

  constructor(functionName: string) {
    super(
      `The function ${functionName} was invoked ${chainMax} times by one event and what followed from it. Lambda ends such a chain unless the function allows it.`,
    );
  }
}

/** Runs with the trace header of the message or call that an invocation comes from. */
export async function withTrace<Result>(
  header: string | undefined,
  run: () => Promise<Result>,
): Promise<Result> {
  await known;
  return running.run(header, run);
}

/**
 * Runs an invocation with a trace that counts it. Clients of the SDK send the trace with each request if
 * AWS_LAMBDA_FUNCTION_NAME is set, as it is in Lambda. Throws ChainEnded instead of the invocation
 * that Lambda would not make.
 */
export async function inChain<Result>(
  { name, mayComeBack }: { name: string; mayComeBack: boolean },
  run: () => Promise<Result>,
): Promise<Result> {
  const header = running.getStore();
  const counts = countsOf(header);
  const count = (counts.get(name) ?? 0) + 1;
  if (count > chainMax && !mayComeBack) throw new ChainEnded(name);
  const lineage = [...counts.set(name, count)].map(([each, times]) => `${each}:${times}`).join("|");
  return withTrace(`Root=${rootOf(header)};Lineage=${lineage}`, run);
}

/** The header of the longest of several chains. */
export function longestChain(headers: readonly (string | undefined)[]): string | undefined {
  const length = (header: string | undefined) => Math.max(0, ...countsOf(header).values());
  return headers.toSorted((one, other) => length(other) - length(one))[0];
}

/** How often each function was invoked in the chain of a trace header. */
export function countsOf(header: string | undefined): Map<string, number> {
  const [, lineage = ""] = /(?:^|;)Lineage=([^;]*)/.exec(header ?? "") ?? [];
  const entries = lineage.split("|").map((entry) => entry.split(":"));
  return new Map(entries.flatMap(([name, times]) => (name && times ? [[name, Number(times)]] : [])));
}

function rootOf(header: string | undefined): string {
  const [, root] = /(?:^|;)Root=([^;]+)/.exec(header ?? "") ?? [];
  return root ?? `1-${randomBytes(4).toString("hex")}-${randomBytes(12).toString("hex")}`;
}
