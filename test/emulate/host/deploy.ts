import { readFileSync } from "node:fs";
import path from "node:path";
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { z } from "zod";
import { asContext, cdk, type EmulatorEnvironment } from "../../../infra/tools/localstack/emulator.ts";
import type { Clock } from "../../../lib/clock.ts";
import { sendingTimeouts } from "../../../lib/config/aws.ts";
import { stackName } from "../deployment.ts";
import { type Template, templateShape } from "../gaps.ts";
import { type Created, callByQuery, createdResources, elements } from "../services.ts";

const cloudformation = "2010-05-15";
const LOOK_AGAIN_MS = 300;
const DEPLOYS_MS_MAX = 120_000;

/** The template that the CDK's own CLI makes of the app. */
export async function synthesise(
  emulator: EmulatorEnvironment,
  settings: object,
  folder: string,
): Promise<Template> {
  const assembly = path.join(folder, "assembly");
  await cdk(["synth", "--quiet", `--output=${assembly}`, ...asContext(settings)], emulator);
  const text = readFileSync(path.join(assembly, `${stackName}.template.json`), "utf8");
  return templateShape.parse(JSON.parse(text));
}

export interface Stack {
  readonly resources: ReadonlyMap<string, Created>;
  readonly outputs: { readonly IngestQueueUrl: string; readonly AdminTokenSecret: string };
}

const outputs = z.object({ IngestQueueUrl: z.string(), AdminTokenSecret: z.string() });

/**
 * Creates the stack with CloudFormation's own API. The CDK's CLI would need its bootstrap stack with a registry of
 * container images, which the community core lacks, and would upload the code of functions.
 */
export async function createStack(
  emulator: EmulatorEnvironment,
  template: Template,
  clock: Clock,
): Promise<Stack> {
  const { url, remove } = await uploaded(emulator, template);
  try {
    await callByQuery(emulator, "cloudformation", cloudformation, {
      Action: "CreateStack",
      StackName: stackName,
      TemplateURL: url,
      "Capabilities.member.1": "CAPABILITY_IAM",
    });
    const described = await created(emulator, clock);
    const resources = await createdResources(emulator, stackName);
    refuseMissing(template, resources);
    const keys = elements(described, "OutputKey");
    const values = elements(described, "OutputValue");
    return {
      resources,
      outputs: outputs.parse(Object.fromEntries(keys.map((key, index) => [key, values[index]]))),
    };
  } finally {
    await remove();
  }
}

/** The description of the stack when it is complete. */
async function created(emulator: EmulatorEnvironment, clock: Clock): Promise<string> {
  for (let waited = 0; waited < DEPLOYS_MS_MAX; waited += LOOK_AGAIN_MS) {
    const input = { Action: "DescribeStacks", StackName: stackName };
    const described = await callByQuery(emulator, "cloudformation", cloudformation, input);
    const [status = ""] = elements(described, "StackStatus");
    if (status === "CREATE_COMPLETE") return described;
    const [reason = "no reason"] = elements(described, "StackStatusReason");
    if (!status.endsWith("_IN_PROGRESS")) throw new Error(`The stack ended in ${status}: ${reason}`);
    await clock.sleep(LOOK_AGAIN_MS);
  }
  throw new Error(`The stack was not complete after ${DEPLOYS_MS_MAX / 1_000} s.`);
}

/** For a type that it does not know, LocalStack creates nothing, reports success and names the resource "unknown". */
function refuseMissing({ Resources }: Template, resources: Stack["resources"]): void {
  const missing = Object.keys(Resources).filter((id) => {
    const found = resources.get(id);
    return found?.status !== "CREATE_COMPLETE" || found.physicalId === "unknown";
  });
  if (missing.length > 0) throw new Error(`These were not created: ${missing.join(", ")}.`);
}

/** A template of this size may not be in the request itself. */
async function uploaded(emulator: EmulatorEnvironment, template: Template) {
  const s3 = new S3Client({
    endpoint: emulator.AWS_ENDPOINT_URL,
    region: emulator.AWS_REGION,
    forcePathStyle: true,
    credentials: { accessKeyId: emulator.AWS_ACCESS_KEY_ID, secretAccessKey: emulator.AWS_SECRET_ACCESS_KEY },
    requestHandler: sendingTimeouts,
  });
  const bucket = { Bucket: "carillon-template" };
  const object = { ...bucket, Key: "template.json" };
  await s3.send(new CreateBucketCommand(bucket));
  await s3.send(new PutObjectCommand({ ...object, Body: JSON.stringify(template) }));
  return {
    url: `${emulator.AWS_ENDPOINT_URL}/${object.Bucket}/${object.Key}`,
    remove: async () => {
      await s3.send(new DeleteObjectCommand(object));
      await s3.send(new DeleteBucketCommand(bucket));
      s3.destroy();
    },
  };
}
