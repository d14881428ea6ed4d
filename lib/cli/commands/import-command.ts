import type { Planned } from "../apply/apply-plan.ts";
import { type Call, command } from "../command.ts";
import { dryRunOption, yesOption } from "../common-options.ts";
import { impossibleFault } from "../fault.ts";

const options = {
  from: {
    value: "form",
    about:
      "crontab, eventbridge, kubernetes, pg-boss, sidekiq, solid-queue, temporal, vercel, or dir (schedules in YAML or JSON); default: detected",
  },
  target: {
    value: "target",
    about:
      "The target of schedules without one here: queue:<name>, handler:<name>, webhook:<url>, lambda:<name>, event:<bus>",
  },
  "base-url": {
    value: "url",
    about: "For vercel: the address of the deployment, at which webhooks call the paths",
  },
  environment: { value: "name", about: "For solid-queue: the environment to read; default: production" },
  prefix: { value: "prefix", about: "Put before each key" },
  system: { about: "For a crontab: each command has a user before it, as in /etc/crontab" },
  "skip-impossible": { about: "Skip schedules that cannot be imported" },
  ...dryRunOption,
  ...yesOption,
} as const;

export const importCommand = command({
  name: "import",
  group: "Schedules",
  summary: "Import schedules from a crontab, EventBridge, another scheduler, or files",
  usage: "<file, directory or ->",
  about:
    "Shows what would be created and changed, the coming runs, and every difference from the source; then asks for confirmation. Nothing is done where one schedule is impossible. Importing again changes nothing.",
  words: { min: 1, max: 1 },
  options,
  examples: [
    "carillon import crontab.txt --from crontab --target queue:commands --timezone Europe/Berlin --dry-run",
    "carillon import schedules.json --from eventbridge --prefix aws: --yes",
    "carillon import manifests --from kubernetes --target queue:jobs --prefix k8s: --dry-run",
    "carillon import vercel.json --base-url https://app.example.com --yes",
    "carillon import schedules --from dir --prefix new: --yes",
  ],
  run: runImport,
});

async function runImport(call: Call<keyof typeof options>): Promise<void> {
  // Loaded here, because other commands need no code that reads and checks whole schedules.
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
  throw impossibleFault(
    impossible,
    `Nothing was done: ${impossible.length} of ${planned.length} cannot be imported (${key ?? from}: ${faults[0]}). --skip-impossible skips them.`,
  );
}

const operationsMax = 1_000;
const bytesMax = 4_000_000;

/** Whether the changes fit into one call: then they are applied all or nothing. */
function isOneCall(planned: readonly Planned[]): boolean {
  if (planned.length > operationsMax) return false;
  const operations = planned.map(({ operation }) => operation);
  return new TextEncoder().encode(JSON.stringify(operations)).length <= bytesMax;
}
