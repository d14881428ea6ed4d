import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { JobHandler } from "../../../job/define-job.ts";
import { ownModule } from "../package-root.ts";
import { ownModules } from "./own-modules.ts";

const current = pathToFileURL(ownModule("lib/tools/local/handlers/current-handlers")).href;
const job = pathToFileURL(ownModule("lib/job/main")).href;

export interface OwnHandlers {
  /** Imports the file again, with all modules of the app that it imports. */
  load(): Promise<readonly JobHandler[]>;
  /** The files that loads have read, this one included. */
  readonly files: ReadonlySet<string>;
}

/**
 * Makes `#handlers` the handlers of an app, and `carillon/job` the module of this stack, so that
 * one file serves the local stack and the construct. It has to be called before any function is
 * imported.
 */
export function ownHandlers(file: string): OwnHandlers {
  if (!existsSync(file))
    throw new Error(
      `The environment variable CARILLON_HANDLERS: there is no file ${file}. It takes the path of the module that exports \`handlers\`.`,
    );
  const elsewhere = new Map([
    ["#handlers", current],
    ["carillon/job", job],
  ]);
  const modules = ownModules(file, elsewhere);
  return { files: modules.files, load: async () => handlersIn(await modules.load(), file) };
}

function handlersIn(module: unknown, file: string): readonly JobHandler[] {
  const exported: unknown = Reflect.get(Object(module), "handlers");
  if (!Array.isArray(exported))
    throw new Error(`${file} exports no array \`handlers\` of what \`defineJob\` of carillon/job made.`);
  const handlers = exported.map((each, index) => handlerAt(each, index, file));
  const names = handlers.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`${file} exports two handlers with the name ${twice}.`);
  return handlers;
}

function handlerAt(value: unknown, index: number, file: string): JobHandler {
  if (isHandler(value)) return value;
  throw new Error(`${file}: handlers[${index}] was not made by \`defineJob\` of carillon/job.`);
}

function isHandler(value: unknown): value is JobHandler {
  if (typeof value !== "object" || value === null) return false;
  const { name, run, schema } = { name: null, run: null, schema: undefined, ...value };
  return typeof name === "string" && typeof run === "function" && typeof schema === "object";
}
