import { BatchInterrupted, CarillonProblem, isNotFound, type OperationResult } from "../../client/main.ts";
import type { Call } from "../command.ts";
import { EditedMeanwhile } from "../fault.ts";
import { printable } from "../output/style.ts";
import { counted } from "../output/table.ts";
import type { Planned } from "./apply-plan.ts";
import { plannedJson } from "./apply-show.ts";

type SendCall = Pick<Call, "client" | "out" | "signal">;

/** Sends the planned changes and reports each result; throws where a change failed. */
export async function sendPlan(
  call: SendCall,
  planned: readonly Planned[],
  { atomic }: { atomic: boolean },
): Promise<void> {
  const toSend = planned.filter(({ operation }) => operation !== null);
  const { results, interrupted } = await sent(call, toSend, atomic);
  const byPlanned = new Map(results.map((result, index) => [toSend[index], result]));
  report(call, planned, byPlanned);
  if (interrupted !== undefined) {
    call.out.note(interrupted.message);
    throw interrupted.cause;
  }
  const failed = [...byPlanned].flatMap(([each, result]) => (isFailed(each, result) ? [result] : []));
  const [first] = failed;
  // A conflict with another caller decides the exit code, because running again resolves it.
  const decisive = failed.find(({ status }) => [409, 412].includes(status)) ?? first;
  if (decisive?.error === undefined) return;
  const detail = `${failed.length} of ${counted(toSend.length, "change")} failed. ${decisive.key}: ${decisive.error.detail}`;
  throw new CarillonProblem({ ...decisive.error, detail });
}

async function sent(
  call: SendCall,
  planned: readonly Planned[],
  atomic: boolean,
): Promise<{ results: readonly OperationResult[]; interrupted?: BatchInterrupted }> {
  const { client, out, signal } = call;
  const operations = planned.flatMap(({ operation }) => operation ?? []);
  if (operations.length === 0) return { results: [] };
  const onProgress = (done: number, of: number) => {
    if (of > done) out.note(`${done} of ${of}`);
  };
  try {
    return { results: await client.batch(operations, { atomic, signal, onProgress }) };
  } catch (error) {
    if (error instanceof BatchInterrupted) return { results: error.results, interrupted: error };
    if (!atomic || !(error instanceof CarillonProblem)) throw error;
    await refuseMoved(call, error, planned);
    throw named(error, planned);
  }
}

const operationPath = /^operations\[(\d+)\](?:\.(?:put|delete))?\.?/;

/**
 * Throws EditedMeanwhile if the versions show that another caller has edited a refused schedule
 * since the comparison. The status does not show it: an atomic batch has one for all refusals.
 */
async function refuseMoved(
  { client, signal }: SendCall,
  { errors }: CarillonProblem,
  planned: readonly Planned[],
): Promise<void> {
  const moved: string[] = [];
  for (const { path } of errors) {
    const { key = null, version } = planned[Number(operationPath.exec(path)?.[1] ?? -1)] ?? {};
    if (key === null) continue;
    const now = await client.schedules.get(key, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return null;
      throw error;
    });
    if ((now?.version ?? null) !== version) moved.push(key);
  }
  if (moved.length === 0) return;
  throw new EditedMeanwhile(
    `Nothing was done: another caller has changed ${moved.join(", ")} since the comparison. Run the command again.`,
  );
}

/**
 * Replaces paths such as `operations[3].put.when` by the key of the schedule, which the author of a
 * file knows.
 */
function named(problem: CarillonProblem, planned: readonly Planned[]): CarillonProblem {
  const errors = problem.errors.map(({ path, message }) => {
    const [whole = "", index] = operationPath.exec(path) ?? [];
    const key = index === undefined ? undefined : planned[Number(index)]?.key;
    return key == null ? { path, message } : { path: `${key} ${path.slice(whole.length)}`.trim(), message };
  });
  const { status, type, title, detail, movedTo, requestId } = problem;
  return new CarillonProblem({
    status,
    type,
    title,
    detail,
    errors,
    ...(movedTo === undefined ? {} : { movedTo }),
    ...(requestId === undefined ? {} : { requestId }),
  });
}

function report(
  { out }: SendCall,
  planned: readonly Planned[],
  results: ReadonlyMap<Planned | undefined, OperationResult>,
): void {
  if (out.isJson) {
    for (const each of planned) {
      const result = results.get(each);
      out.json(plannedJson(each, result === undefined ? {} : { result }));
    }
    return;
  }
  const counts = { create: 0, change: 0, remove: 0 };
  for (const [each, result] of results) {
    if (each === undefined) continue;
    if (isFailed(each, result)) noteFailure(out, result);
    else if (each.change === "create" || each.change === "remove") counts[each.change] += 1;
    else if (result.version !== each.version) counts.change += 1;
  }
  if (results.size === 0) out.line("Nothing to do.");
  else out.line(`Created ${counts.create}, changed ${counts.change}, removed ${counts.remove}.`);
}

function noteFailure(out: Call["out"], { key, error }: OperationResult): void {
  const faults = (error?.errors ?? []).map(({ path, message }) => `${path} ${message}`);
  out.note(
    out.paint(printable(`${key ?? "?"}: ${[error?.detail ?? "refused", ...faults].join(" ")}`), "red"),
  );
}

/** A removal of a schedule that is already gone succeeds, unless it has moved to another installation. */
function isFailed(planned: Planned | undefined, { status, error }: OperationResult): boolean {
  const isGone = status === 404 && error?.movedTo === undefined;
  return status >= 400 && !(isGone && planned?.change === "remove");
}
