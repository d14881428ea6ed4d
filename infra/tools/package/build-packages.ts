import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { billOfMaterials, licences, packagesIn } from "./bill-of-materials.ts";
import { copyDeclarations } from "./declarations.ts";
import { buildOwnPage } from "./own-page.ts";
import { packages } from "./package-list.ts";
import type { PublishedPackage } from "./published-package.ts";
import { repository, root } from "./repository.ts";

// `npm run build`: builds the page for `npm start` in dist/page, and every package as it is
// published in dist/packages.

const dist = path.join(root, "dist");
const types = path.join(dist, "types");

rmSync(dist, { recursive: true, force: true });
const page = { folder: path.join(dist, "page"), bundled: await buildOwnPage(root) };
const tsc = path.join(root, "node_modules", ".bin", "tsc");
for (const project of ["tsconfig.types.json", "tsconfig.client.json"])
  execFileSync(tsc, ["-p", path.join(root, project)], { stdio: "inherit" });
for (const each of packages) await buildOne(each, path.join(dist, "packages", each.name));

async function buildOne(each: PublishedPackage, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const { bundled, declared, manifest } = await each.build(folder, page);
  copyDeclarations(types, path.join(folder, "types"), declared);
  const inBundles = packagesIn(root, bundled);
  const { name, description, keywords } = each;
  const { version, license, engines, homepage, bugs } = repository;
  const write = (file: string, text: string) => writeFileSync(path.join(folder, file), text);
  write("sbom.cdx.json", billOfMaterials({ name, version, license }, inBundles));
  write("THIRD-PARTY-LICENSES", licences(inBundles));
  const files = readdirSync(folder).toSorted();
  cpSync(path.join(root, "LICENSE"), path.join(folder, "LICENSE"));
  cpSync(path.join(import.meta.dirname, "readme", `${name}.md`), path.join(folder, "README.md"));
  const whole = {
    ...{ name, version, description, keywords, homepage, bugs, license },
    repository: repository.repository,
    ...{ files, type: "module", engines },
    ...manifest,
    publishConfig: { access: "public", provenance: true },
  };
  write("package.json", `${JSON.stringify(whole, null, 2)}\n`);
}
