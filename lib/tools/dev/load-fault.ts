import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { printable } from "../../cli/output/style.ts";

/** The app's folder, and the files that a load has read. */
export interface Loaded {
  folder: string;
  files: ReadonlySet<string>;
}

/** A module of the app in a stack, with the mark that its load has put on it. */
const place = /file:\/\/[^\s)]+?\?carillon-load=\d+:\d+(?::\d+)?/;

/**
 * Why a module of the app cannot be loaded, in one line that begins with its place. Node has the
 * place in the stack of an error, but not where JavaScript cannot be parsed.
 */
export function loadFault(error: unknown, { folder, files }: Loaded): string {
  if (!(error instanceof Error)) return printable(String(error));
  const { name, message, stack = "" } = error;
  const [first = ""] = (name === "Error" ? message : `${name}: ${message}`).split("\n");
  const [, file, line] = /^(.*)\?[^?:]*:(\d+)(?::\d+)?$/.exec(place.exec(stack)?.[0] ?? "") ?? [];
  const found =
    file !== undefined
      ? `${fileURLToPath(file)}:${line}`
      : error instanceof SyntaxError
        ? placeOfSyntax(files)
        : undefined;
  return printable(found === undefined ? first.trim() : `${inFolder(found, folder)}: ${first.trim()}`);
}

/** More checks would take longer than a person waits for the sentence. */
const checkedMax = 50;

/** Node says the place of a fault of syntax only where it ends a process. */
function placeOfSyntax(files: ReadonlySet<string>): string | undefined {
  for (const file of [...files].filter((each) => /\.m?js$/.test(each)).slice(0, checkedMax)) {
    const { stderr } = spawnSync(process.execPath, ["--check", file], { encoding: "utf8" });
    const line = /^(?:file:\/\/)?\/.*:(\d+)$/m.exec(stderr)?.[1];
    if (line !== undefined) return `${file}:${line}`;
  }
  return undefined;
}

export function inFolder(file: string, folder: string): string {
  const inside = path.relative(folder, file);
  return inside.startsWith("..") ? file : inside;
}
