import type { Planned } from "../apply/apply-plan.ts";
import { type Call, command } from "../command.ts";
import { dryRunOption, yesOption } from "../common-options.ts";

const options = {
  from: {
    value: "form",
    about: "crontab, eventbridge, or dir (schedules in YAML or JSON); found out if left out",
  },
  target: {
    value: "target",
    about:
      "Where jobs go that have no target here: queue:<name>, handler:<name>, webhook:<url>, lambda:<name>, event:<bus>",
  },
  prefix: { value: "prefix", about: "Put before each key" },
  system: { about: "Of a crontab: a user stands before each command, as in /etc/crontab" },
  "skip-impossible": { about: "Leave out what cannot be brought over, and do the rest" },
  ...dryRunOption,
  ...yesOption,
} as const;

/** Bringing schedules over from a crontab, from EventBridge, or from files. */
export const importCommand = command({
  name: "import",
  group: "Schedules",
  summary: "Bring schedules over from a crontab, EventBridge, or files",
  usage: "<file, directory or ->",
  about:
    "Shows what would be created and changed, the coming runs, and everything that will be otherwise than at the source; then asks. Nothing is done where something is impossible. Importing the same again changes nothing.",
  words: { min: 1, max: 1 },
  options,
  examples: [
    "carillon import crontab.txt --from crontab --target queue:commands --timezone Europe/Berlin --dry-run",
    "carillon import schedules.json --from eventbridge --prefix aws: --yes",
    "carillon import schedules --from dir --prefix new: --yes",
  ],
  run: runImport,
});

async function runImport(call: Call<keyof typeof options>): Promise<void> {
  // Other commands need none of what reads and checks whole schedules.
  const { readImport } = await import("../import-source.ts");
  const { planChanges } = await import("../apply/apply-plan.ts");
  const { showPlan, plannedJson, summary } = await import("../apply/apply-show.ts");
  const { sendPlan } = await import("../apply/apply-send.ts");
  const { given, out } = call;
  const planned = await planChanges(call, await readImport(call));
  const isTried = given.flag("dry-run");
  if (!out.isJson) showPlan(out, planned);
  else if (isTried) for (const each of planned) out.json(plannedJson(each, { dryRun: true }));
  refuseImpossible(planned, given.flag("skip-impossible"));
  if (isTried) return;
  const toSend = planned.filter(({ operation }) => operation !== null);
  if (toSend.length > 0) await call.confirm(`${summary(planned)}. Do it?`, given.flag("yes"));
  await sendPlan(call, planned, { atomic: !given.flag("skip-impossible") && isOneCall(toSend) });
}

function refuseImpossible(planned: readonly Planned[], isSkipped: boolean): void {
  const impossible = planned.filter(({ change }) => change === "impossible");
  if (impossible.length === 0 || isSkipped) return;
  const [{ key, from, faults } = { key: null, from: null, faults: [] }] = impossible;
  throw new Error(
    `Nothing was done: ${impossible.length} of ${planned.length} cannot be brought over (${key ?? from}: ${faults[0]}). --skip-impossible leaves them out.`,
  );
}

const operationsMax = 1_000;
const bytesMax = 4_000_000;

/** What fits into one transaction is done as a whole or not at all. */
function isOneCall(planned: readonly Planned[]): boolean {
  if (planned.length > operationsMax) return false;
  const operations = planned.map(({ operation }) => operation);
  return new TextEncoder().encode(JSON.stringify(operations)).length <= bytesMax;
}
