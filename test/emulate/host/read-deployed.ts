import type { EmulatorEnvironment } from "../../../infra/tools/localstack/emulator.ts";
import { stackName } from "../deployment.ts";
import type { Template } from "../gaps.ts";
import { type Held, readBack } from "../read-back.ts";
import type { Adapted } from "./without-lambda.ts";

/** Properties that LocalStack accepts and drops, by the type of their resources. */
const dropped: ReadonlyMap<string, string> = new Map([
  ["AWS::Logs::LogGroup", "LocalStack's CloudFormation drops the retention"],
]);

/** An expectation of deployed resources, and whether it holds in LocalStack. */
export interface Read extends Omit<Held, "faults"> {
  readonly result: string;
}

/** Reads the resources back through the API of each service; throws for a difference that is not known. */
export async function readDeployed(
  { template, leftOut, ruleFeeds }: Adapted,
  whole: Template,
  emulator: EmulatorEnvironment,
): Promise<Read[]> {
  const added = new Set(ruleFeeds.map(({ queueId }) => queueId));
  const ofTemplate = Object.entries(template.Resources).filter(([id]) => !added.has(id));
  const given = {
    template: { ...template, Resources: Object.fromEntries(ofTemplate) },
    leftOut: leftOut.map(({ id }) => id),
  };
  const { held } = await readBack(given, whole, emulator, stackName);
  const unknown = held.flatMap(({ type, faults }) => (dropped.has(type) ? [] : faults));
  if (unknown.length > 0) throw new Error(`LocalStack differs from the template: ${unknown.join("; ")}`);
  return held.flatMap(({ faults, ...each }) => {
    if (each.resources === 0) return [];
    return { ...each, result: faults.length === 0 ? "holds" : `differs: ${dropped.get(each.type)}` };
  });
}
