import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EmulatorEnvironment, emulatorAt } from "../../infra/tools/localstack/emulator.ts";
import { deployTo, stackName } from "./deployment.ts";
import { notInstalled, startEmulator } from "./emulator-process.ts";
import { gapsOf } from "./gaps.ts";
import { callByQuery, callByTarget, elements } from "./services.ts";

/**
 * `npm run drill:first`: walks "A first deployment failed" of docs/deploy.md in the emulator. The last
 * resource fails the deployment. The emulator's CloudFormation deletes an RDS instance
 * also while that is protected, so the refusal of the deletion itself is not shown.
 */
const say = (line: string) => process.stdout.write(`${line}\n`);

/** A signal that no function sends. CloudFormation waits for it after it has made everything else. */
const failing = (ids: readonly string[]) => ({
  Handle: { Type: "AWS::CloudFormation::WaitConditionHandle", Properties: {} },
  Signal: {
    Type: "AWS::CloudFormation::WaitCondition",
    Properties: { Handle: { Ref: "Handle" }, Timeout: "1" },
    DependsOn: [...ids],
  },
});
/**
 * The CLI uploads a template once for each hash, and computes the hash before the failing resource is added.
 * Another setting gives the failing template a hash of its own.
 */
const ofFailing = { pageName: "Failing" };
const unprotected = { databaseProtected: false };

for (const walk of [unprotectedFirst, protectedFirst]) {
  const emulator = await startEmulator();
  if (emulator === undefined) {
    say(notInstalled);
    process.exitCode = 1;
    break;
  }
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-drill-"));
  try {
    await walk(emulatorAt(emulator.url), folder);
  } finally {
    await emulator.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function unprotectedFirst(emulator: EmulatorEnvironment, folder: string): Promise<void> {
  const deploy = (settings: object, more?: typeof failing) =>
    deployTo(emulator, settings, gapsOf("rds"), folder, more);
  await assert.rejects(deploy({ ...unprotected, ...ofFailing }, failing));
  assert.equal((await stack(emulator)).status, "ROLLBACK_COMPLETE");
  assert.deepEqual(await left(emulator), []);
  say("ok  an unprotected first deployment failed, and its rollback left no queue, key or database");

  await deploy(unprotected);
  const [first] = await databases(emulator);
  assert.equal(first?.isProtected, false);
  say("ok  the same command made the stack, without a step in between");

  await deploy({});
  assert.deepEqual(await databases(emulator), [{ ...first, isProtected: true }]);
  assert.deepEqual(await stack(emulator), { status: "UPDATE_COMPLETE", isProtected: true });
  say("ok  the second deployment protected the same database and the stack");

  await assert.rejects(cloudFormation(emulator, { Action: "DeleteStack", StackName: stackName }));
  for (const { id } of await databases(emulator))
    await assert.rejects(
      rds(emulator, { Action: "DeleteDBInstance", DBInstanceIdentifier: id, SkipFinalSnapshot: "true" }),
    );
  await unlock(emulator);
  assert.deepEqual(await databases(emulator), [first]);
  assert.equal((await stack(emulator)).isProtected, false);
  say("ok  the deletion of either was refused, and the documented commands turned both protections off");
}

async function protectedFirst(emulator: EmulatorEnvironment, folder: string): Promise<void> {
  const deploy = (settings = {}, more?: typeof failing) =>
    deployTo(emulator, settings, gapsOf("rds"), folder, more);
  await assert.rejects(deploy(ofFailing, failing));
  await assert.rejects(deploy());
  assert.equal((await stack(emulator)).isProtected, true);
  say("ok  a protected first deployment failed, and the termination protection refuses the next one");

  await unlock(emulator);
  await deploy();
  assert.deepEqual(await stack(emulator), { status: "CREATE_COMPLETE", isProtected: true });
  say("ok  without protection the next deployment deleted the failed stack, and made a new one");
}

/** The commands of docs/deploy.md for a stack that was protected from the start. */
async function unlock(emulator: EmulatorEnvironment): Promise<void> {
  for (const { id } of await databases(emulator))
    await rds(emulator, {
      Action: "ModifyDBInstance",
      DBInstanceIdentifier: id,
      DeletionProtection: "false",
    });
  await cloudFormation(emulator, {
    Action: "UpdateTerminationProtection",
    StackName: stackName,
    EnableTerminationProtection: "false",
  });
}

function cloudFormation(emulator: EmulatorEnvironment, input: Record<string, string>): Promise<string> {
  return callByQuery(emulator, "cloudformation", "2010-05-15", input);
}

function rds(emulator: EmulatorEnvironment, input: Record<string, string>): Promise<string> {
  return callByQuery(emulator, "rds", "2014-10-31", input);
}

async function stack(emulator: EmulatorEnvironment) {
  const xml = await cloudFormation(emulator, { Action: "DescribeStacks", StackName: stackName });
  const [status] = elements(xml, "StackStatus");
  return { status, isProtected: elements(xml, "EnableTerminationProtection")[0] === "true" };
}

async function databases(emulator: EmulatorEnvironment) {
  const xml = await rds(emulator, { Action: "DescribeDBInstances" });
  const isProtected = elements(xml, "DeletionProtection");
  return elements(xml, "DBInstanceIdentifier").map((id, n) => ({
    id,
    isProtected: isProtected[n] === "true",
  }));
}

/** The queues, usable keys and databases of the deployment that are there. */
async function left(emulator: EmulatorEnvironment): Promise<string[]> {
  const queues = JSON.stringify(await callByTarget(emulator, "sqs", "AmazonSQS.ListQueues", {}));
  const keys = JSON.stringify(await callByTarget(emulator, "kms", "TrentService.ListKeys", {}));
  const usable: string[] = [];
  for (const [, id = ""] of keys.matchAll(/"KeyId":"([^"]+)"/g)) {
    const key = JSON.stringify(
      await callByTarget(emulator, "kms", "TrentService.DescribeKey", { KeyId: id }),
    );
    if (key.includes('"Enabled":true') && key.includes('"KeyManager":"CUSTOMER"')) usable.push(key);
  }
  const found = [...queues.matchAll(/https?:[^"]+/g)].map(([url]) => url);
  return [...found, ...usable, ...(await databases(emulator)).map(({ id }) => id)];
}
