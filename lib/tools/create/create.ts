import path from "node:path";
import { type Arguments, readArguments, usage } from "./arguments.ts";
import { Fault } from "./fault.ts";
import { projectFiles } from "./template.ts";
import { checkFolder, writeProject } from "./write-project.ts";

/** Makes the project that the command line asks for, and says how to go on. */
export function create(args: readonly string[]): void {
  try {
    const given = readArguments(args);
    process.stdout.write(given.help ? usage : made(given));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    process.stderr.write(`create-carillon: ${error.message}\n`);
    process.exitCode = 1;
  }
}

function made({ folder, packages }: Arguments): string {
  const files = projectFiles(folder, packages);
  checkFolder(folder);
  writeProject(folder, files);
  const place = path.relative("", folder);
  const enter = place === "" ? "" : `cd ${quoted(place)} && `;
  return `${path.basename(folder)} is made: a handler, two schedules, tests of both, and a stack for AWS.

  ${enter}npm install
  npm test     thirty nights of a schedule, one of them with a clock change
  npm start    Carillon on this machine, with your handlers and schedules

README.md goes on from there.
`;
}

/** A path as a shell takes it. */
function quoted(place: string): string {
  return /^[\w./-]+$/.test(place) ? place : `'${place.replaceAll("'", "'\\''")}'`;
}
