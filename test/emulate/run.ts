import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EmulatorEnvironment, emulatorAt, ownerSecret } from "../../infra/tools/localstack/emulator.ts";
import { localstackSettings } from "../../infra/tools/localstack/profile.ts";
import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { apiAddress, type Deployment, deployTo, stackName } from "./deployment.ts";
import { type EmulatorProcess, notInstalled, pinned, startEmulator } from "./emulator-process.ts";
import { gapsOf } from "./gaps.ts";
import { page, type Section } from "./page.ts";
import { readBack } from "./read-back.ts";

const written = path.join(import.meta.dirname, "..", "..", "docs", "emulator.md");
const smokeScript = path.join(import.meta.dirname, "..", "smoke", "run.ts");
const say = (line: string) => process.stdout.write(`${line}\n`);

type Try = (emulator: EmulatorEnvironment, folder: string) => Promise<Section>;

process.exitCode = await run();

async function run(): Promise<number> {
  const sections: Section[] = [];
  for (const tryOut of [byDefault, localstackProfile]) {
    const emulator = await startEmulator();
    if (emulator === undefined) {
      say(notInstalled);
      return 1;
    }
    sections.push(await withFolder(emulator, tryOut));
  }
  writeFileSync(written, page(pinned, sections));
  const faults = sections.flatMap(({ held }) => held.flatMap((each) => each.faults));
  for (const fault of faults) say(`fault  ${fault}`);
  say(`${faults.length} faults; the result is in ${path.relative(process.cwd(), written)}`);
  return faults.length === 0 ? 0 : 1;
}

async function withFolder(emulator: EmulatorProcess, tryOut: Try): Promise<Section> {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-emulate-"));
  const environment = emulatorAt(emulator.url);
  try {
    return await tryOut(environment, folder);
  } finally {
    await emulator.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * As deployed to AWS with default settings. There is no Postgres behind the emulated RDS, so the
 * functions are created but cannot work.
 */
async function byDefault(emulator: EmulatorEnvironment, folder: string): Promise<Section> {
  const gaps = gapsOf("rds");
  const deployment = await deployTo(emulator, {}, gaps, folder);
  return {
    ...(await readSection(deployment, emulator)),
    title: "By default",
    settings: "none",
    gaps,
    smoke: undefined,
  };
}

/**
 * The profile for LocalStack, beside a real Postgres, so that the migration and the functions run.
 */
async function localstackProfile(emulator: EmulatorEnvironment, folder: string): Promise<Section> {
  const dataDir = path.join(folder, "postgres");
  mkdirSync(dataDir);
  const postgres = await startPostgres({ dataDir });
  try {
    const secretArn = await ownerSecret(postgres.url, emulator);
    const settings = localstackSettings({ url: postgres.url, secretArn });
    const gaps = gapsOf("external");
    const deployment = await deployTo(emulator, settings, gaps, folder);
    const result = await readSection(deployment, emulator);
    const smoke = await smokeTest(deployment, emulator);
    const title = "The profile for LocalStack, with a Postgres";
    return { ...result, title, settings: "those of `infra/tools/localstack/profile.ts`", gaps, smoke };
  } finally {
    await postgres.stop();
  }
}

function readSection({ given, whole }: Deployment, emulator: EmulatorEnvironment) {
  return readBack(given, whole, emulator, stackName);
}

async function smokeTest({ outputs }: Deployment, emulator: EmulatorEnvironment): Promise<string> {
  const env = {
    ...process.env,
    ...emulator,
    CARILLON_URL: apiAddress(outputs.ApiUrl, emulator),
    CARILLON_TOKEN_SECRET: outputs.AdminTokenSecret,
    INGEST_QUEUE_URL: outputs.IngestQueueUrl.replace("//localhost:", "//127.0.0.1:"),
  };
  const child = spawn(process.execPath, [smokeScript], { env, stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`The smoke test failed:\n${said}`);
  return said;
}
