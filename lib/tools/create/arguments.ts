import path from "node:path";
import { parseArgs } from "node:util";
import { Fault } from "./fault.ts";

export interface Arguments {
  help: boolean;
  /** The folder of the project. */
  folder: string;
  /** The folder with the tarballs of Carillon's packages; undefined: they come from the registry. */
  packages: string | undefined;
}

export const usage = `Usage: npm create carillon [FOLDER]

Makes a project in TypeScript: a handler, two schedules, tests of both, and a stack for AWS. It installs
nothing and asks nothing.

  FOLDER             a new or empty folder, named as the project is to be; default: carillon-app
  --packages FOLDER  take Carillon's packages from the tarballs in this folder, which
                     \`npm run pack:all\` makes in a clone; npm needs \`--\` before it
  -h, --help         show this
`;

/** Reads the command line, with paths from the current folder. */
export function readArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parsed(args);
  const [folder = "carillon-app", ...more] = positionals;
  if (more.length > 0)
    throw new Fault(
      `The folders ${positionals.join(", ")} were given; it takes one, and its name has no spaces.`,
    );
  const { help = false, packages } = values;
  return {
    help,
    folder: path.resolve(folder),
    packages: packages === undefined ? undefined : path.resolve(packages),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { packages: { type: "string" }, help: { type: "boolean", short: "h" } },
      allowPositionals: true,
    });
  } catch (error) {
    // Node's message names the argument.
    if (error instanceof TypeError) throw new Fault(`${error.message}\n\n${usage}`);
    throw error;
  }
}
