import { type Command, command } from "../command.ts";
import { devArguments, devText } from "../dev/dev-options.ts";
import { devMissing, findPackage } from "../dev/find-package.ts";
import { ProgramEnded, UsageFault } from "../fault.ts";

/** The stack brings a Postgres, so it is a package of its own, and this is its program. */
export const devCommand: Command = command({
  ...devText,
  run: async ({ given, programs }) => {
    const args = devArguments(given);
    const found = findPackage("carillon-dev", process.cwd());
    if (found?.program == null) throw new UsageFault(devMissing);
    const code = await programs.run(found.program, args);
    if (code !== 0) throw new ProgramEnded(code);
  },
});
