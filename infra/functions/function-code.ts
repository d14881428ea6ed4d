import { existsSync } from "node:fs";
import path from "node:path";
import { packageRoot as root } from "../package-root.ts";
import { bundledInstead } from "./function-format.ts";

export type FunctionEntry = "tick" | "worker" | "api" | "ingest" | "migrate" | "webhook" | "archive";

const inRepository = existsSync(`${root}functions/handlers.ts`);

/** In these `#handlers` is imported. */
const withHandlers: ReadonlySet<FunctionEntry> = new Set(["tick", "worker", "api", "ingest"]);

/** Where the code of the functions lies, and whose handlers are bundled with it. */
export class FunctionCode {
  /** A file in the folder that esbuild is run in. Nothing is read from it: every dependency is in the bundle. */
  readonly lockFile = inRepository ? `${root}package-lock.json` : path.join(root, "..", "package.json");
  /** What `#handlers` means in functions/; in the package there are none before an app has some. */
  private readonly handlers: string | undefined;

  constructor(handlersEntry = inRepository ? `${root}functions/handlers.ts` : undefined) {
    this.handlers = handlersEntry === undefined ? undefined : path.resolve(handlersEntry);
    if (this.handlers !== undefined && !existsSync(this.handlers))
      throw new Error(`handlersEntry: there is no file ${this.handlers} that could export \`handlers\`.`);
  }

  /** What is bundled at synth. */
  entryOf(entry: FunctionEntry): string {
    return inRepository ? `${root}functions/${entry}.ts` : `${root}functions/open/${entry}.js`;
  }

  /** What esbuild is told besides. In the package the dependencies are in the code already, and are what they should be. */
  get esbuildArgs(): Record<string, string> {
    const aliases = {
      ...(inRepository ? bundledInstead(root) : {}),
      ...(this.handlers === undefined ? {} : { "#handlers": this.handlers }),
    };
    return Object.fromEntries(Object.entries(aliases).map(([module, file]) => [`--alias:${module}`, file]));
  }

  /** The folder to be deployed as it is, where the package brings one and an app has nothing to put into it. */
  builtOf(entry: FunctionEntry): string | undefined {
    if (inRepository || (this.handlers !== undefined && withHandlers.has(entry))) return undefined;
    return `${root}functions/${entry}`;
  }
}
