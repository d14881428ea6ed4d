import { z } from "zod";
import type { EmulatorEnvironment } from "../../infra/tools/localstack/emulator.ts";

/**
 * Services without an installed client, by their own protocols. The emulator reads only the
 * service's name from a signature.
 */
function headersFor(service: string, { AWS_ACCESS_KEY_ID, AWS_REGION }: EmulatorEnvironment) {
  const scope = `${AWS_ACCESS_KEY_ID}/20260101/${AWS_REGION}/${service}/aws4_request`;
  return { authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none` };
}

async function post(
  emulator: EmulatorEnvironment,
  headers: Record<string, string>,
  body: string,
): Promise<string> {
  const response = await fetch(emulator.AWS_ENDPOINT_URL, { method: "POST", headers, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`The emulator answered ${response.status}: ${text.slice(0, 500)}`);
  return text;
}

/** JSON 1.0 and 1.1, with the operation in a header. */
export async function callByTarget(
  emulator: EmulatorEnvironment,
  service: string,
  target: string,
  input: object,
): Promise<unknown> {
  const type = { "content-type": "application/x-amz-json-1.1", "x-amz-target": target };
  return JSON.parse(
    await post(emulator, { ...headersFor(service, emulator), ...type }, JSON.stringify(input)),
  );
}

/** The query protocol: a form as the request, XML as the response. */
export function callByQuery(
  emulator: EmulatorEnvironment,
  service: string,
  version: string,
  input: Record<string, string>,
): Promise<string> {
  const type = { "content-type": "application/x-www-form-urlencoded" };
  const form = new URLSearchParams({ ...input, Version: version });
  return post(emulator, { ...headersFor(service, emulator), ...type }, form.toString());
}

/** The contents of each element of this name; elements must not contain others of the same name. */
export function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs"))].map(([, inside = ""]) => inside);
}

const created = z.object({ logicalId: z.string(), physicalId: z.string(), status: z.string() });
export type Created = z.infer<typeof created>;

/** The resources that CloudFormation created, by logical id. */
export async function createdResources(
  emulator: EmulatorEnvironment,
  stackName: string,
): Promise<ReadonlyMap<string, Created>> {
  const found = new Map<string, Created>();
  let next: string | undefined;
  do {
    const input = { Action: "ListStackResources", StackName: stackName, ...(next && { NextToken: next }) };
    const xml = await callByQuery(emulator, "cloudformation", "2010-05-15", input);
    for (const member of elements(xml, "member")) {
      const [logicalId] = elements(member, "LogicalResourceId");
      const [physicalId] = elements(member, "PhysicalResourceId");
      const [status] = elements(member, "ResourceStatus");
      const each = created.parse({ logicalId, physicalId, status });
      found.set(each.logicalId, each);
    }
    [next] = elements(xml, "NextToken");
  } while (next !== undefined);
  return found;
}
