import { existsSync } from "node:fs";
import module from "node:module";
import path from "node:path";
import { packageRoot as root } from "../package-root.ts";
import { bundledInstead } from "./function-format.ts";

export type FunctionEntry =
  | "tick"
  | "worker"
  | "api"
  | "ingest"
  | "migrate"
  | "webhook"
  | "archive"
  | "page"
  | "stack";

const inRepository = existsSync(`${root}functions/handlers.ts`);

/** The entries that import `#handlers`. */
const withHandlers: ReadonlySet<FunctionEntry> = new Set(["tick", "worker", "api", "ingest"]);

/** The location of the functions' code, and the handlers that are bundled with it. */
export class FunctionCode {
  /**
   * Any file in the folder that esbuild runs in. It is not read, because every dependency is in the
   * bundle.
   */
  readonly lockFile = path.join(root, inRepository ? "package-lock.json" : "package.json");
  /** The module behind `#handlers` in functions/. The package has none until an app passes one. */
  private readonly handlers: string | undefined;

  constructor(handlersEntry = inRepository ? `${root}functions/handlers.ts` : undefined) {
    this.handlers = handlersEntry === undefined ? undefined : path.resolve(handlersEntry);
    if (this.handlers !== undefined && !existsSync(this.handlers))
      throw new Error(
        `handlersEntry: the file ${this.handlers} does not exist; give the path of the module that exports \`handlers\`.`,
      );
    if (this.handlers !== undefined && !inRepository) refuseWithoutEsbuild();
  }

  get hasHandlers(): boolean {
    return this.handlers !== undefined;
  }

  /** The file that is bundled at synth. */
  entryOf(entry: FunctionEntry): string {
    return inRepository ? `${root}functions/${entry}.ts` : `${root}functions/open/${entry}.js`;
  }

  /**
   * Extra arguments of esbuild. The package's code already contains its dependencies, with the
   * replacements made.
   */
  get esbuildArgs(): Record<string, string> {
    const aliases = {
      ...(inRepository ? bundledInstead(root) : {}),
      ...(this.handlers === undefined ? {} : { "#handlers": this.handlers }),
    };
    return Object.fromEntries(Object.entries(aliases).map(([module, file]) => [`--alias:${module}`, file]));
  }

  /**
   * The prebuilt folder that is deployed as it is: where the package has one and the app adds no
   * handlers to it.
   */
  builtOf(entry: FunctionEntry): string | undefined {
    if (inRepository || (this.handlers !== undefined && withHandlers.has(entry))) return undefined;
    return `${root}functions/${entry}`;
  }
}

/** Without it the CDK would bundle in a container, where the paths of the handlers do not exist. */
function refuseWithoutEsbuild(): void {
  try {
    module.findPackageJSON("esbuild", import.meta.url);
  } catch (cause) {
    throw new Error(
      "handlersEntry: your handlers are bundled with esbuild, which is not installed; run `npm install --save-dev esbuild`.",
      { cause },
    );
  }
}
