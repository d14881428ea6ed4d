import { installed, type Lockfile, nameAt } from "./lockfile.ts";

/** Licences of code that may be in a published bundle: they ask for their text, and for nothing else. */
const allowed = new Set(["0BSD", "Apache-2.0", "BSD-3-Clause", "BlueOak-1.0.0", "ISC", "MIT", "Unlicense"]);

interface Exception {
  package: RegExp;
  licence: string;
  /** Why the licence does not bind the code of Carillon or of its users. */
  reason: string;
}

const exceptions: readonly Exception[] = [
  {
    package: /^axe-core$/,
    licence: "MPL-2.0",
    reason: "The tests of the page run it unchanged. It is in no bundle.",
  },
  {
    package: /^lightningcss(-[a-z0-9-]+)?$/,
    licence: "MPL-2.0",
    reason: "vite runs it unchanged, to make style sheets small. It is in no bundle.",
  },
];

/** Whether one of the alternatives of an SPDX expression is allowed, with all of its parts. */
export function isAllowed(expression: string): boolean {
  const words = expression.replace(/^\((.*)\)$/, "$1");
  return words.split(" OR ").some((choice) => choice.split(" AND ").every((each) => allowed.has(each)));
}

/** The packages whose licence is not allowed, and the exceptions that no package needs. */
export function licenceFaults(lockfile: Lockfile): string[] {
  const packages = installed(lockfile).map(([place, { license }]) => ({
    place,
    name: nameAt(place),
    licence: license ?? "none",
  }));
  const isExcepted = (name: string, licence: string) =>
    exceptions.some((each) => each.package.test(name) && each.licence === licence);
  const refused = packages
    .filter(({ name, licence }) => !isAllowed(licence) && !isExcepted(name, licence))
    .map(
      ({ place, licence }) =>
        `${place}: its licence is ${licence}; allowed are ${[...allowed].join(", ")}, and exceptions with a reason in lib/tools/supply/licences.ts.`,
    );
  const unused = exceptions
    .filter(
      (each) => !packages.some(({ name, licence }) => each.package.test(name) && each.licence === licence),
    )
    .map((each) => `The exception for ${each.package.source} (${each.licence}) is of no package: remove it.`);
  return [...refused, ...unused];
}
