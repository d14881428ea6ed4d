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
  /** Each with the resource's logical id, and what was found instead. */
  readonly faults: readonly string[];
}

/** What came of a deployment: how many of each type were made, and whether what we rely on holds for each of them. */
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
      // A service that does not know it any more, or answers in no way that is known, is a fault of this one, and the others count as well.
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

/** Of the CDK itself; nothing of ours. */
function isMetadata({ Resources }: Given["template"], id: string): boolean {
  return Resources[id]?.Type === "AWS::CDK::Metadata";
}

/** As JSON would tell it: what is absent is not there. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}
