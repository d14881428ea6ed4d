import { type Planned, planChanges } from "../../../cli/apply/apply-plan.ts";
import { removal } from "../../../cli/apply/apply-removal.ts";
import { sendPlan } from "../../../cli/apply/apply-send.ts";
import type { Call } from "../../../cli/command.ts";
import type { Found } from "../../../cli/formats/found.ts";
import { Output } from "../../../cli/output/output.ts";
import { printable } from "../../../cli/output/style.ts";
import { cut } from "../../../cli/output/table.ts";
import { timesIn } from "../../../cli/times.ts";
import type { Carillon } from "../../../client/main.ts";
import type { Clock } from "../../../clock.ts";

/** The schedules that `carillon dev` has made; others in the same data are left alone. */
export const devTag = "apply:dev";
const remedy = "delete it, or choose another key";

export interface ApplyParts {
  client: Carillon;
  clock: Clock;
  signal: AbortSignal;
}

export interface Applied {
  /** The changes in one line. With faults nothing was changed. */
  line: string;
  /** Each with its file and its position or key. */
  faults: string[];
}

const namesWidth = 120;

/** Makes the schedules match those that were found, by the plan and the send of `carillon apply`. */
export async function applySchedules(
  { client, clock, signal }: ApplyParts,
  found: readonly Found[],
): Promise<Applied> {
  const now = () => clock.now().getTime();
  const notes: string[] = [];
  const terminal = {
    write: () => {},
    note: (text: string) => void notes.push(text.trim()),
    isTty: false,
    width: undefined,
  };
  const out = new Output(terminal, { json: false, colours: false, times: timesIn(undefined, now) });
  const call: Pick<Call, "client" | "out" | "signal" | "now" | "pause"> = {
    client,
    out,
    signal,
    now,
    pause: (ms) => clock.sleep(ms, signal),
  };
  const planned = await planChanges(call, found, { mark: { tag: devTag, adopt: false, remedy } });
  const faults = planned.flatMap(faultsOf);
  if (faults.length > 0) return { line: "nothing was changed", faults };
  const keys = new Set(planned.map(({ key }) => key));
  for await (const { key, version } of client.schedules.list({ tag: devTag, limit: 100, signal }))
    if (!keys.has(key)) planned.push(removal(key, version));
  try {
    await sendPlan(call, planned, { atomic: false });
  } catch (error) {
    // Each refusal has been noted.
    if (notes.length === 0) throw error;
  }
  return { line: lineOf(planned), faults: notes };
}

function faultsOf({ change, key, from, faults }: Planned): string[] {
  if (change !== "impossible") return [];
  const place = key === null || from?.endsWith(key) ? from : `${from} (${key})`;
  return faults.map((fault) => printable(`${place}: ${fault}`));
}

const signs = { create: "+", change: "~", remove: "−" } as const;

/** Such as `12 schedules: +report:weekly ~order:close`. */
function lineOf(planned: readonly Planned[]): string {
  const remaining = planned.filter(({ change }) => change !== "remove" && change !== "over");
  const over = planned.filter(({ change }) => change === "over").map(({ key }) => `${key} is over`);
  const changed = planned.flatMap(({ change, key }) =>
    change === "create" || change === "change" || change === "remove" ? [`${signs[change]}${key}`] : [],
  );
  const words = [changed.length === 0 ? "unchanged" : cut(changed.join(" "), namesWidth), ...over];
  return printable(
    `${remaining.length} ${remaining.length === 1 ? "schedule" : "schedules"}: ${words.join(", ")}`,
  );
}
