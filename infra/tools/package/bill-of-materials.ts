import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

const packageJson = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  author: z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]).optional(),
});
type PackageJson = z.infer<typeof packageJson>;

/** A package with code in a bundle. */
export interface BundledPackage extends PackageJson {
  readonly folder: string;
}

/** The packages with code in a bundle, found by the files that esbuild read. */
export function packagesIn(root: string, files: Iterable<string>): BundledPackage[] {
  const folders = new Set([...files].flatMap((file) => packageFolder(file) ?? []));
  return [...folders]
    .map((folder) => path.join(root, folder))
    .map((folder) => ({ ...readPackage(folder), folder }))
    .toSorted((one, other) => (purlOf(one) < purlOf(other) ? -1 : 1));
}

/** The packages with code in the bundles of `whole`, in the CycloneDX format. */
export function billOfMaterials(whole: PackageJson, packages: readonly BundledPackage[]): string {
  const components = packages.map((each) => ({ type: "library", ...described(each) }));
  const component = { type: "application", ...described(whole) };
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component },
    components,
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/**
 * The packages' licences and notices word for word, because minifying drops them and a
 * redistributed bundle must contain them.
 */
export function licences(packages: readonly BundledPackage[]): string {
  const rule = "=".repeat(80);
  return packages
    .map(({ folder, name, version, license, author }) => {
      const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)\b/i.test(file));
      const texts = files.map((file) => readFileSync(path.join(folder, file), "utf8").trim());
      // The package states its licence only in package.json.
      if (texts.length === 0)
        texts.push(`${license}, by ${author ?? "an unnamed author"}. The package contains no licence text.`);
      return [rule, `${name} ${version} (${license})`, rule, "", texts.join("\n\n"), "", ""].join("\n");
    })
    .join("\n");
}

function described({ name, version, license }: PackageJson) {
  const purl = purlOf({ name, version });
  return { "bom-ref": purl, name, version, purl, licenses: [{ expression: license }] };
}

function purlOf({ name, version }: { name: string; version: string }): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function readPackage(folder: string): PackageJson {
  return packageJson.parse(JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")));
}

/**
 * `node_modules/@scope/name` for a file in it; the innermost one, where a package has a dependency
 * of its own in it.
 */
function packageFolder(file: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
}
