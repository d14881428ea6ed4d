import { isDeepStrictEqual } from "node:util";
import type { EmulatorEnvironment } from "../../infra/tools/localstack/emulator.ts";
import { clientsOf, expectations } from "./expectations.ts";
import type { Given } from "./gaps.ts";
import { createdResources } from "./services.ts";

export interface ByType {
  readonly type: string;
  readonly inTemplate: number;
  readonly created: number;
}

export interface Held {
  readonly type: string;
  readonly says: string;
  readonly resources: number;
  /** The logical ids of resources that differ, each with the value that was found. */
  readonly faults: readonly string[];
}

/**
 * The result of a deployment: the number of created resources of each type, and whether each
 * expectation holds for them.
 */
export async function readBack(
  { template, leftOut }: Given,
  whole: Given["template"],
  emulator: EmulatorEnvironment,
  stackName: string,
): Promise<{ types: ByType[]; held: Held[] }> {
  const created = await createdResources(emulator, stackName);
  const isCreated = (id: string) => created.get(id)?.status === "CREATE_COMPLETE";
  const missing = Object.keys(template.Resources).filter((id) => !isCreated(id) && !isMetadata(template, id));
  if (missing.length > 0) throw new Error(`These were not created: ${missing.join(", ")}.`);

  const names = [...new Set(Object.values(whole.Resources).map(({ Type }) => Type))].sort();
  const types = names.map((type) => {
    const ids = Object.keys(whole.Resources).filter((id) => whole.Resources[id]?.Type === type);
    return {
      type,
      inTemplate: ids.length,
      created: ids.filter((id) => !leftOut.includes(id) && isCreated(id)).length,
    };
  });

  const clients = clientsOf(emulator);
  const held: Held[] = [];
  for (const { type, says, compare } of expectations) {
    const those = Object.entries(template.Resources).filter(([, { Type }]) => Type === type);
    const faults: string[] = [];
    for (const [id, { Properties: properties }] of those) {
      const physicalId = created.get(id)?.physicalId ?? "";
      // A service that does not find the resource, or gives an unknown answer, is a fault of this
      // resource; the others are checked as well.
      const refused = (error: unknown) => ({ wanted: "an answer", found: String(error) });
      const { wanted, found } = await compare({ properties, physicalId, created, emulator, clients }).catch(
        refused,
      );
      if (!isDeepStrictEqual(plain(found), plain(wanted)))
        faults.push(`${id}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
    }
    held.push({ type, says, resources: those.length, faults });
  }
  for (const client of Object.values(clients)) client.destroy();
  return { types, held };
}

/** A resource of the CDK itself. */
function isMetadata({ Resources }: Given["template"], id: string): boolean {
  return Resources[id]?.Type === "AWS::CDK::Metadata";
}

/** As in JSON: undefined properties are absent. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}
