import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export type FunctionEntry = "tick" | "worker" | "api" | "ingest" | "migrate" | "webhook";

const repository = fileURLToPath(new URL("..", import.meta.url));

/** Where the code of the functions lies, and whose handlers are bundled with it. */
export class FunctionCode {
  readonly repository = repository;
  /** What `#handlers` means in functions/. */
  readonly handlers: string;

  constructor(handlersEntry = `${repository}functions/handlers.ts`) {
    this.handlers = path.resolve(handlersEntry);
    if (!existsSync(this.handlers))
      throw new Error(`handlersEntry: there is no file ${this.handlers} that could export \`handlers\`.`);
  }

  entryOf(entry: FunctionEntry): string {
    return `${this.repository}functions/${entry}.ts`;
  }
}
