import { sameVersion } from "./published/carillon.ts";
import { repository, testedVersion } from "./repository.ts";

/** The newest version that fits the one that the tests run with. */
const fitting = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, `^${testedVersion(name)}`]));

/**
 * The manifest of the project that `create-carillon` makes, under the name that stands for the project's
 * own. It is made and not a file, so that a version is written once, in this repository's manifest.
 */
export const projectManifest = {
  ...{ name: "carillon-app", private: true, type: "module" },
  engines: repository.engines,
  scripts: { start: "carillon dev", test: "vitest run", types: "tsc --noEmit" },
  dependencies: { carillon: sameVersion, ...fitting(["zod"]) },
  devDependencies: {
    ...fitting(["@types/node", "aws-cdk", "aws-cdk-lib"]),
    ...{ "carillon-cdk": sameVersion, "carillon-dev": sameVersion },
    ...fitting(["constructs", "esbuild", "typescript", "vitest"]),
  },
  // npm warns of scripts of an install that a manifest neither allows nor denies. None is needed.
  allowScripts: repository.allowScripts,
};
