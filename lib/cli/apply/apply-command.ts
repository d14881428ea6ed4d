import path from "node:path";
import { type Call, command } from "../command.ts";
import { dryRunOption, yesOption } from "../common-options.ts";
import { impossibleFault, UsageFault, WouldChange } from "../fault.ts";
import type { Planned } from "./apply-plan.ts";
import { removal } from "./apply-removal.ts";

const options = {
  name: { value: "set", about: "The name of the set; default: the directory's name" },
  prune: { about: "Remove schedules of this set that the directory no longer has" },
  adopt: { about: "Take over existing schedules that this set did not make" },
  atomic: { about: "All or nothing, for at most 1,000 changes" },
  "allow-empty": { about: "With --prune: allow a directory without schedules" },
  "exit-code": { about: "With --dry-run: exit with 10 if something would change" },
  ...dryRunOption,
  ...yesOption,
} as const;

type ApplyCall = Call<keyof typeof options>;

export const applyCommand = command({
  name: "apply",
  group: "Schedules",
  summary: "Make the schedules match a directory",
  usage: "<directory>",
  about:
    "Creates and changes schedules as its YAML and JSON files say, and with --prune removes those that the files no longer have. Schedules of the set have the tag `apply:<set>`; schedules without it are changed only with --adopt. Pauses are unchanged.",
  words: { min: 1, max: 1 },
  options,
  examples: [
    "carillon apply schedules --name billing --dry-run",
    "carillon apply schedules --name billing --yes",
    "carillon apply schedules --name billing --prune --yes",
  ],
  run: runApply,
});

async function runApply(call: ApplyCall): Promise<void> {
  // Loaded here, because other commands need no code that reads and checks whole schedules.
  const { readSource } = await import("../formats/source-files.ts");
  const { isScheduleFile, readScheduleFiles } = await import("../formats/schedule-files.ts");
  const { planChanges } = await import("./apply-plan.ts");
  const { showPlan, plannedJson, summary } = await import("./apply-show.ts");
  const { sendPlan } = await import("./apply-send.ts");
  const { given, out } = call;
  if (given.flag("exit-code") && !given.flag("dry-run")) throw new UsageFault("--exit-code needs --dry-run.");
  const tag = await markOf(call);
  const { found } = readScheduleFiles(await readSource(call, call.words[0] ?? "", isScheduleFile));
  const planned = await planChanges(call, found, { mark: { tag, adopt: given.flag("adopt") } });
  planned.push(...(await removals(call, tag, planned)));
  const isTried = given.flag("dry-run");
  if (!out.isJson) showPlan(out, planned);
  else if (isTried) for (const each of planned) out.json(plannedJson(each, { dryRun: true }));
  refuseImpossible(planned);
  const changing = planned.filter(({ change }) => ["create", "change", "remove"].includes(change));
  if (isTried) {
    if (given.flag("exit-code") && changing.length > 0) throw new WouldChange(summary(planned));
    return;
  }
  if (changing.length > 0) await call.confirm(`${summary(planned)}. Do it?`, given.flag("yes"));
  await sendPlan(call, planned, { atomic: given.flag("atomic") });
}

async function markOf({ given, words }: ApplyCall): Promise<string> {
  const { tagFault } = await import("./apply-mark.ts");
  const name = given.text("name") ?? path.parse(path.resolve(words[0] ?? "")).name;
  const tag = `apply:${name}`;
  const fault = tagFault(tag);
  if (fault === null) return tag;
  throw new UsageFault(
    `The name of the set ${JSON.stringify(name)} is not valid: the tag ${tag} ${fault}. Choose another with --name.`,
  );
}

/** Schedules with the set's tag that no file contains. */
async function removals(
  { given, client, signal }: ApplyCall,
  tag: string,
  planned: readonly Planned[],
): Promise<Planned[]> {
  const isPruned = given.flag("prune");
  const isNamed = given.flag("name");
  if (!isPruned && isNamed) return [];
  const keys = new Set(planned.map(({ key }) => key));
  if (isPruned && keys.size === 0 && !given.flag("allow-empty"))
    throw new Error(
      "The directory has no schedule, so --prune would remove the whole set. Use --allow-empty to allow that.",
    );
  const removed: Planned[] = [];
  let isShared = false;
  for await (const { key, version } of client.schedules.list({ tag, limit: 100, signal })) {
    if (keys.has(key)) isShared = true;
    else removed.push(removal(key, version));
  }
  // Two directories of the same name would otherwise remove each other's schedules.
  if (!isNamed && !isShared && removed.length > 0)
    throw new Error(
      `A set with the tag ${tag} exists, but this directory has none of its schedules, so it may belong to another directory. Name the set with --name.`,
    );
  return isPruned ? removed : [];
}

function refuseImpossible(planned: readonly Planned[]): void {
  const impossible = planned.filter(({ change }) => change === "impossible");
  const [first] = impossible;
  if (first === undefined) return;
  throw impossibleFault(
    impossible,
    `Nothing was done: ${impossible.length} of ${planned.length} schedules are impossible (${first.key ?? first.from}: ${first.faults[0]}).`,
  );
}
