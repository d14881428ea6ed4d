import { existsSync } from "node:fs";
import path from "node:path";
import { Fault } from "./fault.ts";

/** The parts of the project's package.json that are filled in. */
export interface Manifest {
  name: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

/** A name of at most 64 letters: names of resources in AWS begin with it. */
const allowedName = /^[a-z][a-z0-9-]{0,63}$/;

/** Throws for a name that cannot be the one of the package and of the stack in AWS. */
export function checkName(name: string, { dependencies, devDependencies }: Manifest): void {
  if (!allowedName.test(name))
    throw new Fault(
      `${JSON.stringify(name)} cannot be the name of a project: it takes small letters, digits and hyphens, begins with a letter and has at most 64 characters, because it names the package and the stack in AWS.`,
    );
  if (name in dependencies || name in devDependencies)
    throw new Fault(
      `${name} cannot be the name of a project: it depends on the package of that name; choose another, such as my-${name}.`,
    );
}

/**
 * Lets the packages of Carillon come from tarballs, by paths relative to the project: both folders may
 * move together.
 */
export function withTarballs(manifest: Manifest, given: { packages: string; folder: string }): Manifest {
  const { packages, folder } = given;
  const own = (dependencies: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(dependencies).map(([name, range]) => {
        if (!/^carillon(-|$)/.test(name)) return [name, range];
        const tarball = path.join(packages, `${name}-${range.replace("^", "")}.tgz`);
        if (!existsSync(tarball))
          throw new Fault(
            `--packages: there is no ${path.basename(tarball)} in ${packages}; \`npm run pack:all\` in a clone makes it, in dist/packages.`,
          );
        return [name, `file:${path.relative(folder, tarball)}`];
      }),
    );
  return {
    ...manifest,
    dependencies: own(manifest.dependencies),
    devDependencies: own(manifest.devDependencies),
  };
}
