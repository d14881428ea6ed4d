import { type ResolveFnOutput, registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The mark in the addresses of an app's modules: each load has a number of its own. */
const load = "carillon-load";

/** A module of the app, with all modules of the app that it imports. */
export interface OwnModules {
  /** Imports the file again, and what it imports. */
  load(): Promise<unknown>;
  /** The files that loads have read, this one included. */
  readonly files: ReadonlySet<string>;
}

/** Loads of all modules of this process, so that no two have the same mark. */
let loads = 0;

/**
 * `elsewhere`: modules that are found at another address than Node's. Modules in `node_modules`, and
 * CommonJS modules, are loaded once.
 */
export function ownModules(file: string, elsewhere: ReadonlyMap<string, string> = new Map()): OwnModules {
  const files = new Set([file]);
  const marks = new Set<string>();
  registerHooks({
    resolve: (specifier, context, next) => {
      const url = elsewhere.get(specifier);
      if (url !== undefined) return { url, shortCircuit: true };
      const resolved = next(specifier, context);
      const mark = markOf(context.parentURL);
      return mark !== null && marks.has(mark) ? marked(resolved, mark, files) : resolved;
    },
  });
  return {
    files,
    load: async () => {
      loads++;
      const mark = String(loads);
      marks.add(mark);
      const url = pathToFileURL(file);
      url.searchParams.set(load, mark);
      return import(url.href);
    },
  };
}

const markOf = (parent: string | undefined): string | null =>
  parent === undefined || !URL.canParse(parent) ? null : new URL(parent).searchParams.get(load);

/** Passes the mark of a module on to the modules of the app that it imports. */
function marked(resolved: ResolveFnOutput, mark: string, files: Set<string>): ResolveFnOutput {
  if (!resolved.url.startsWith("file:") || resolved.url.includes("/node_modules/")) return resolved;
  const url = new URL(resolved.url);
  files.add(fileURLToPath(resolved.url));
  url.searchParams.set(load, mark);
  return { ...resolved, url: url.href };
}
