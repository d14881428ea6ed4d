import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import {
  asContext,
  cdk,
  type EmulatorEnvironment,
  emulatedAccount,
} from "../../infra/tools/localstack/emulator.ts";
import { type Gap, type Given, templateShape, withoutGaps } from "./gaps.ts";

export const stackName = "Carillon";

const outputs = z.object({
  [stackName]: z.object({ ApiUrl: z.string(), IngestQueueUrl: z.string(), AdminTokenSecret: z.string() }),
});

export interface Deployment {
  readonly whole: Given["template"];
  readonly given: Given;
  readonly outputs: z.output<typeof outputs>[typeof stackName];
}

/** The emulator's address of the API; the stack's output has an address of AWS. */
export function apiAddress(apiUrl: string, { AWS_ENDPOINT_URL }: EmulatorEnvironment): string {
  const { hostname, pathname } = new URL(apiUrl);
  const [apiId] = hostname.split(".");
  const [, stage] = pathname.split("/");
  return `${AWS_ENDPOINT_URL}/restapis/${apiId}/${stage}/_user_request_`;
}

/**
 * Synthesises the app, leaves out the emulator's gaps, adds `more` resources, and deploys the result with the
 * CDK's own CLI, including bootstrap, assets and change set.
 */
export async function deployTo(
  emulator: EmulatorEnvironment,
  settings: object,
  gaps: readonly Gap[],
  folder: string,
  more: (ids: readonly string[]) => Given["template"]["Resources"] = () => ({}),
): Promise<Deployment> {
  const assembly = path.join(folder, "assembly");
  await cdk(["synth", "--quiet", `--output=${assembly}`, ...asContext(settings)], emulator);
  const file = path.join(assembly, `${stackName}.template.json`);
  const whole = templateShape.parse(JSON.parse(readFileSync(file, "utf8")));
  const given = withoutGaps(whole, gaps);
  const { Resources: kept } = given.template;
  const Resources = { ...kept, ...more(Object.keys(kept)) };
  writeFileSync(file, JSON.stringify({ ...given.template, Resources }));

  const outputsFile = path.join(folder, "outputs.json");
  await cdk(["bootstrap", `aws://${emulatedAccount}/${emulator.AWS_REGION}`, `--app=${assembly}`], emulator);
  await cdk(
    [
      "deploy",
      `--app=${assembly}`,
      "--require-approval=never",
      "--progress=bar",
      `--outputs-file=${outputsFile}`,
    ],
    emulator,
  );
  return { whole, given, outputs: outputs.parse(JSON.parse(readFileSync(outputsFile, "utf8")))[stackName] };
}
