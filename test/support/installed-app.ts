import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { withLinkedModules, withoutNetwork } from "./linked-modules.ts";
import { packedPackages } from "./packed-packages.ts";

const root = path.join(import.meta.dirname, "..", "..");
const modules = path.join(root, "node_modules");

/** An app in an otherwise empty folder, with what a page tells to install. */
export interface InstalledApp {
  folder: string;
  /** A path in the app. */
  at(...parts: string[]): string;
  write(name: string, text: string): void;
  /** Runs a program in the app, without network. Throws if it fails; returns its output. */
  run(command: string, ...args: string[]): string;
  /** Checks the types of files, by the compiler and with flags of the caller. */
  checkTypes(flags: readonly string[], ...files: string[]): string;
  remove(): void;
}

/**
 * Runs the install line of a page in an empty folder beside a clone, from the tarballs. npm gets the
 * third-party packages from the folders of this repository, and whatever else it asks the network
 * for, it does not get. `own`: third-party packages of the app itself.
 */
export async function installedApp(page: string, own: readonly string[] = []): Promise<InstalledApp> {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-app-"));
  const app = path.join(folder, "app");
  mkdirSync(app);
  mkdirSync(path.join(folder, "carillon", "dist"), { recursive: true });
  symlinkSync(await packedPackages(), path.join(folder, "carillon", "dist", "packages"));
  const manifest = withLinkedModules({
    ...{ name: "app", private: true, type: "module" },
    dependencies: Object.fromEntries(own.map((name) => [name, "*"])),
  });
  writeFileSync(path.join(app, "package.json"), JSON.stringify(manifest));
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: app, encoding: "utf8", stdio: "pipe", env: withoutNetwork(folder) });
  run("bash", "-euc", installLineOf(page));
  return {
    folder,
    at: (...parts) => path.join(app, ...parts),
    write: (name, text) => writeFileSync(path.join(app, name), text),
    run,
    checkTypes: (flags, ...files) =>
      run(path.join(modules, ".bin", "tsc"), "--noEmit", "--strict", ...flags, ...files),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The only block of the page that installs a package from the clone. */
function installLineOf(page: string): string {
  const text = readFileSync(path.join(root, page), "utf8");
  const blocks = [...text.matchAll(/^```sh\n(npm install [^\n]*\.\.\/.*?)^```/gms)].map(
    ([, block = ""]) => block,
  );
  const [line, ...more] = blocks;
  if (line === undefined || more.length > 0)
    throw new Error(`${page} has ${blocks.length} blocks that install from a clone, and not one.`);
  return line;
}
