import { execFile, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { projectManifest } from "../../infra/tools/package/project-manifest.ts";
import { repository, testedVersion } from "../../infra/tools/package/repository.ts";
import { withoutNetwork } from "../support/linked-modules.ts";
import { packedPackages } from "../support/packed-packages.ts";
import { startRegistry } from "./registry.ts";

const run = promisify(execFile);

const wholeProject = [
  ".gitignore",
  "README.md",
  "carillon",
  "carillon/carillon.test.ts",
  "carillon/handlers.ts",
  "carillon/schedules.ts",
  "cdk.json",
  "infra",
  "infra/app.ts",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
];

/** Kills the program before its n-th change of a file or folder. */
const killedAt = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

let left = Number(process.env.KILLED_AT);
for (const name of ["mkdirSync", "writeFileSync", "renameSync", "rmSync"]) {
  const real = fs[name];
  fs[name] = (...given) => {
    if (left-- === 0) process.kill(process.pid, "SIGKILL");
    return real(...given);
  };
}
syncBuiltinESMExports();
`;

// Each test starts programs, which take seconds on a busy machine.
describe("create-carillon, as its package has it", { timeout: 120_000 }, () => {
  let packages: string;
  let folder: string;

  beforeAll(async () => {
    packages = await packedPackages();
  }, 240_000);
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "carillon-create-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const at = (...parts: string[]) => path.join(folder, ...parts);
  const program = () => path.join(packages, "create-carillon", "create.js");
  const create = (args: readonly string[], { cwd = folder, env = {}, flags = [] as string[] } = {}) =>
    spawnSync(process.execPath, [...flags, program(), ...args], {
      cwd,
      encoding: "utf8",
      env: { ...process.env, ...env },
    });
  const filesIn = (place: string) => readdirSync(at(place), { recursive: true }).map(String).toSorted();
  const textOf = (...parts: string[]) => readFileSync(at(...parts), "utf8");

  test("a project has the name of its folder, and the versions that this release was tested with", () => {
    const { status, stdout } = create(["apps/my-app"]);
    expect(status).toBe(0);
    expect(stdout).toContain("cd apps/my-app && npm install\n");
    expect(filesIn("apps/my-app")).toEqual(wholeProject);
    expect(readdirSync(at("apps"))).toEqual(["my-app"]);
    expect(JSON.parse(textOf("apps", "my-app", "package.json"))).toEqual({
      ...projectManifest,
      name: "my-app",
    });
    expect(textOf("apps", "my-app", "README.md")).toMatch(/^# my-app\n/);
    expect(textOf("apps", "my-app", "infra", "app.ts")).toContain('new Stack(new App(), "my-app")');
  });

  test("without a name the project is carillon-app, and a folder with nothing but .git is empty", () => {
    expect(create([]).status).toBe(0);
    expect(filesIn("carillon-app")).toEqual(wholeProject);
    mkdirSync(at("cloned", ".git"), { recursive: true });
    const { status, stdout } = create(["."], { cwd: at("cloned") });
    expect(status).toBe(0);
    expect(stdout).toContain("\n  npm install\n");
    expect(filesIn("cloned")).toEqual([".git", ...wholeProject]);
  });

  test.each(["My-App", "9lives", "my_app", "a".repeat(65)])(
    "a project cannot be called %s: the answer says what is allowed, and nothing is made",
    (name) => {
      const { status, stderr } = create([name]);
      expect(status).toBe(1);
      expect(stderr).toMatch(
        /^create-carillon: ".*" cannot be the name of a project: it takes small letters, /,
      );
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test("a project cannot have the name of a package that it depends on", () => {
    expect(create(["carillon"]).stderr).toContain("choose another, such as my-carillon.\n");
    expect(create(["vitest"]).status).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a folder with a file is refused by that file's name, and stays as it is", () => {
    mkdirSync(at("my-app"));
    writeFileSync(at("my-app", "notes.txt"), "mine");
    expect(create(["my-app"]).stderr).toContain("is not empty: notes.txt is in it.");
    expect(filesIn("my-app")).toEqual(["notes.txt"]);
    writeFileSync(at("other"), "mine");
    expect(create(["other"]).stderr).toContain("other is a file.");
    expect(textOf("other")).toBe("mine");
  });

  test("a second folder and an unknown option are refused with the usage", () => {
    expect(create(["my", "app"]).stderr).toContain("The folders my, app were given; it takes one");
    expect(create(["my-app", "--pakages", "x"]).stderr).toMatch(/--pakages.*\n\nUsage: npm create carillon/s);
    expect(readdirSync(folder)).toEqual([]);
    expect(create(["--help"]).stdout).toMatch(/^Usage: npm create carillon \[FOLDER\]/);
  });

  test("with --packages the project takes Carillon's packages from the tarballs, by relative paths", () => {
    expect(create(["my-app", "--packages", packages]).status).toBe(0);
    const { dependencies, devDependencies } = JSON.parse(textOf("my-app", "package.json"));
    const tarball = (name: string) => path.join(packages, `${name}-${repository.version}.tgz`);
    for (const [name, given] of [
      ["carillon", dependencies.carillon],
      ["carillon-cdk", devDependencies["carillon-cdk"]],
      ["carillon-dev", devDependencies["carillon-dev"]],
    ] as const)
      expect(given).toBe(`file:${path.relative(at("my-app"), tarball(name))}`);
    expect(devDependencies.vitest).toBe(`^${testedVersion("vitest")}`);
  });

  test("a folder without a tarball of Carillon is refused by the name of the tarball", () => {
    const { stderr } = create(["my-app", "--packages", "."]);
    expect(stderr).toContain(
      `--packages: there is no carillon-${repository.version}.tgz in ${at()}; \`npm run pack:all\``,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a creation that is killed at any moment leaves no half of a project, and the next one makes it whole", () => {
    writeFileSync(at("killed-at.mjs"), killedAt);
    const flags = ["--import", at("killed-at.mjs")];
    let killed = 0;
    for (; ; killed++) {
      const { signal } = create(["my-app"], { flags, env: { KILLED_AT: String(killed) } });
      if (existsSync(at("my-app"))) expect(filesIn("my-app")).toEqual(wholeProject);
      else expect(create(["my-app"]).status).toBe(0);
      expect(filesIn("my-app")).toEqual(wholeProject);
      rmSync(at("my-app"), { recursive: true });
      if (signal === null) break;
    }
    expect(killed).toBeGreaterThan(wholeProject.length);
    expect(readdirSync(folder)).toEqual(["killed-at.mjs"]);
  });

  test("npm create carillon makes the project from a registry, and npm exec from the tarball", async () => {
    const tarball = path.join(packages, `create-carillon-${repository.version}.tgz`);
    const manifest = JSON.parse(readFileSync(path.join(packages, "create-carillon", "package.json"), "utf8"));
    await using registry = await startRegistry(tarball, manifest);
    const reached = { NO_PROXY: "127.0.0.1", npm_config_offline: "false", npm_config_fetch_retries: "0" };
    const env = { ...withoutNetwork(at("home")), ...reached };
    const npm = async (...args: string[]) => (await run("npm", args, { cwd: folder, env })).stdout;
    const from = ["--registry", registry.url, "--yes"];
    expect(await npm("create", ...from, "carillon", "my-app", "--", "--packages", packages)).toContain(
      "my-app is made",
    );
    expect(filesIn("my-app")).toEqual(wholeProject);
    await npm("exec", ...from, "--package", tarball, "--", "create-carillon", "other-app");
    expect(filesIn("other-app")).toEqual(wholeProject);
  });
});
