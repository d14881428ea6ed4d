import { randomUUID } from "node:crypto";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Assembled } from "../../lib/config/function.ts";
import type { Answered, Asked, HostSettings } from "./hosted-release.ts";

// The program that runs the functions of one release, whose folder is its first argument. The second is
// their settings. It gets a function's name and an event, and answers with the function's result.

type Made = Assembled<unknown, unknown>;
type Module = Readonly<Record<string, (env: object, parts: object) => Made>>;

const [, , folder = "", text = "{}"] = process.argv;
const { environments, secret, remainingMs }: HostSettings = JSON.parse(text);
const made = new Map<string, Promise<Made>>();

const load = (file: string) => import(pathToFileURL(path.join(folder, file)).href);

async function make(name: keyof HostSettings["environments"]): Promise<Made> {
  const { file, env } = environments[name];
  const { assemble }: Module = await load(file);
  if (assemble === undefined) throw new Error(`${file} makes no function.`);
  return assemble(env, name === "webhook" ? { vault: await vault() } : {});
}

/** The vault of the release itself, in place of KMS. */
async function vault(): Promise<unknown> {
  const { secretVault }: Readonly<Record<string, (secret: string) => unknown>> =
    await load("lib/sealing/key-vault.ts");
  return secretVault?.(secret);
}

async function answer({ call, name, event }: Asked): Promise<Answered> {
  try {
    const own = made.get(name) ?? make(name);
    made.set(name, own);
    const invocation = { awsRequestId: randomUUID(), getRemainingTimeInMillis: () => remainingMs };
    return { call, result: await (await own).handler(event, invocation) };
  } catch (error) {
    return { call, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

process.on("message", async (asked: Asked) => process.send?.(await answer(asked)));
process.on("disconnect", () => process.exit());
