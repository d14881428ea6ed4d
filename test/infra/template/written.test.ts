import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { strFromU8, unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { bundledTemplateOf } from "../../../infra/tools/template/synthesis.ts";
import { terraformName } from "../../../infra/tools/template/terraform-module.ts";

const root = path.join(import.meta.dirname, "..", "..", "..");
const tool = path.join(root, "infra", "tools", "template", "write-template.ts");
const files = ["carillon.template.json", "carillon-in-vpc.template.json"];

const template = z.object({
  Parameters: z.record(z.string(), z.unknown()),
  Mappings: z.record(z.string(), z.record(z.string(), z.record(z.string(), z.unknown()))),
  Outputs: z.record(z.string(), z.unknown()),
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()) }),
  ),
});
const code = z.strictObject({
  S3Bucket: z.strictObject({ Ref: z.literal("CodeBucket") }),
  S3Key: z.strictObject({
    "Fn::Join": z.tuple([
      z.literal(""),
      z.tuple([z.strictObject({ Ref: z.literal("CodePrefix") }), z.string()]),
    ]),
  }),
});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-template-"));
  execFileSync(process.execPath, [tool, "--out", folder], { stdio: "pipe" });
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const textOf = (...file: string[]) => readFileSync(path.join(folder, ...file), "utf8");
const templateIn = (file: string) => template.parse(JSON.parse(textOf(file)));
const zipsIn = () => readdirSync(folder).filter((file) => file.endsWith(".zip"));

/** The functions with their handlers and the names of their zips. */
function functionsIn(file: string) {
  return Object.entries(templateIn(file).Resources)
    .filter(([, { Type }]) => Type === "AWS::Lambda::Function")
    .map(([id, { Properties }]) => ({
      id,
      handler: z.string().parse(Properties["Handler"]),
      zip: code.parse(Properties["Code"]).S3Key["Fn::Join"][1][1],
    }));
}

describe("the templates", () => {
  test.each(files)("%s is within CloudFormation's limits", (file) => {
    const { Parameters, Resources, Outputs, Mappings } = templateIn(file);
    const bytes = Buffer.byteLength(textOf(file));
    const counts = [Parameters, Resources, Outputs, Mappings].map((section) => Object.keys(section).length);
    const [parameters = 0, resources = 0, outputs = 0, mappings = 0] = counts;
    process.stdout.write(
      `${file}: ${bytes} bytes, ${parameters} parameters, ${resources} resources, ${outputs} outputs, ${mappings} mappings\n`,
    );
    expect(bytes).toBeLessThanOrEqual(1_000_000);
    expect(parameters).toBeLessThanOrEqual(200);
    expect(resources).toBeLessThanOrEqual(500);
    expect(outputs).toBeLessThanOrEqual(200);
    for (const rows of Object.values(Mappings)) expect(Object.keys(rows).length).toBeLessThanOrEqual(200);
  });

  test.each(files)("%s needs no bootstrap and no transform, and names nothing of this machine", (file) => {
    const text = textOf(file);
    for (const trace of ["BootstrapVersion", "hnb659fds", "cdk-", "aws:cdk", "aws:asset", '"Transform":'])
      expect(text).not.toContain(trace);
    for (const place of [root, homedir(), tmpdir(), "file:"]) expect(text).not.toContain(place);
  });

  test.each(files)(
    "each function of %s has a zip beside it, which exports the handler that it names",
    (file) => {
      const functions = functionsIn(file);
      expect(functions.length).toBeGreaterThan(10);
      for (const { id, handler, zip } of functions) {
        const [module = "", name = ""] = handler.split(".");
        const held = unzipSync(readFileSync(path.join(folder, zip)));
        const source = held[`${module}.mjs`] ?? held[`${module}.js`];
        expect(source, id).toBeDefined();
        // Carillon's own are modules; those of the CDK's framework for custom resources are not.
        const exported =
          module === "index" ? `export\\s*\\{[^}]*\\b${name}\\b` : `exports[^]*function ${name}\\(`;
        expect(strFromU8(source ?? new Uint8Array()), id).toMatch(new RegExp(exported));
      }
    },
  );
});

describe("the zips", () => {
  test("each zip is named by its bytes, and each is the code of a function", () => {
    const used = new Set(files.flatMap((file) => functionsIn(file).map(({ zip }) => zip)));
    expect(zipsIn().toSorted()).toEqual([...used].toSorted());
    for (const zip of zipsIn()) {
      const hash = createHash("sha256")
        .update(readFileSync(path.join(folder, zip)))
        .digest("hex");
      expect(zip).toBe(`${hash.slice(0, 32)}.zip`);
    }
  });

  test("the same source gives the same zips again", () => {
    const names = (zip: Uint8Array) => `${createHash("sha256").update(zip).digest("hex").slice(0, 32)}.zip`;
    const again = bundledTemplateOf({ stackSchedules: true }, names);
    expect(Object.keys(again.zips).toSorted()).toEqual(zipsIn().toSorted());
  }, 200_000);

  test("no zip has the path of this machine in it, but for a linked node_modules", () => {
    for (const zip of zipsIn())
      for (const [name, bytes] of Object.entries(unzipSync(readFileSync(path.join(folder, zip)))))
        expect(strFromU8(bytes, true).includes(`${root}/`), `${zip}: ${name}`).toBe(false);
  });
});

test("a settings file that is missing is refused in one sentence", () => {
  const { status, stderr } = spawnSync(process.execPath, [tool, "--settings", "missing.json"], {
    encoding: "utf8",
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^--settings missing\.json: it cannot be read as JSON: ENOENT.*\n$/);
});

test("a settings file with an unknown setting is refused, with the names of those that exist", () => {
  const file = path.join(folder, "settings.json");
  writeFileSync(file, JSON.stringify({ databaseSize: "large" }));
  const out = path.join(folder, "refused");
  const { status, stderr } = spawnSync(process.execPath, [tool, "--settings", file, "--out", out], {
    encoding: "utf8",
  });
  expect(status).toBe(1);
  expect(stderr).toContain(
    "databaseSize: there is no such setting; the settings are database, databaseClass",
  );
  expect(readdirSync(folder)).not.toContain("refused");
});

describe("the Terraform module", () => {
  const named = (kind: string, text: string) =>
    [...text.matchAll(new RegExp(`^${kind} "(\\w+)"`, "gm"))].map(([, name = ""]) => name);
  const variables = () =>
    named("variable", textOf("terraform", "variables.tf") + textOf("terraform", "main.tf"));
  const outputs = () => named("output", textOf("terraform", "outputs.tf"));

  test("its variables are the parameters of the templates, and the name of the stack", () => {
    const parameters = new Set(files.flatMap((file) => Object.keys(templateIn(file).Parameters)));
    expect(variables().toSorted()).toEqual([...[...parameters].map(terraformName), "name"].toSorted());
  });

  test("its outputs are those of the templates", () => {
    const all = new Set(files.flatMap((file) => Object.keys(templateIn(file).Outputs)));
    expect(outputs().toSorted()).toEqual([...all].map(terraformName).toSorted());
  });

  test("the example of docs/deploy.md uses only its variables and outputs", () => {
    const page = readFileSync(path.join(root, "docs", "deploy.md"), "utf8");
    const block = /module "carillon" \{\n([\s\S]*?)\n\}/.exec(page)?.[1] ?? "";
    const given = [...block.matchAll(/^ {2}(\w+) +=/gm)].map(([, name]) => name);
    expect(given.length).toBeGreaterThan(3);
    for (const name of given) expect(["source", ...variables()]).toContain(name);
    const read = [...page.matchAll(/module\.carillon\.(\w+)/g)].map(([, name]) => name);
    expect(read.length).toBeGreaterThan(1);
    for (const name of read) expect(outputs()).toContain(name);
  });

  // Terraform is a program that npm cannot install. It is asked where it is present.
  const environment = { ...process.env, CHECKPOINT_DISABLE: "1", TF_CLI_CONFIG_FILE: "/dev/null" };
  const terraform = (args: readonly string[], cwd: string) =>
    spawnSync("terraform", args, { cwd, encoding: "utf8", env: environment });
  const present = terraform(["version"], root).status === 0;
  if (!present)
    process.stdout.write("Terraform is not installed: its own checks of the module are left out.\n");

  test.runIf(present)("Terraform finds its files and the examples of the docs well formed", () => {
    for (const page of ["deploy.md", "schedules-as-code.md"]) {
      const text = readFileSync(path.join(root, "docs", page), "utf8");
      for (const [index, [, block = ""]] of [...text.matchAll(/```hcl\n([\s\S]*?)```/g)].entries())
        writeFileSync(path.join(folder, "terraform", `${page}-${index}.tf`), block);
    }
    const checked = terraform(["fmt", "-check", "-diff", "-recursive"], path.join(folder, "terraform"));
    expect(checked.stdout + checked.stderr).toBe("");
    for (const file of readdirSync(path.join(folder, "terraform")))
      if (file.includes(".md-")) rmSync(path.join(folder, "terraform", file));
  });

  test.runIf(present)(
    "Terraform computes the parameters' values from the variables, and refuses others",
    () => {
      // The providers of AWS are not needed for that, and would have to be downloaded.
      const own = mkdtempSync(path.join(folder, "only-values-"));
      for (const file of ["variables.tf", "parameters.tf"])
        writeFileSync(path.join(own, file), textOf("terraform", file));
      const shown = ["parameters", "template"].map(
        (name) => `output "${name}" {\n  value = local.${name}\n}\n`,
      );
      writeFileSync(path.join(own, "outputs.tf"), shown.join("\n"));
      expect(terraform(["init", "-input=false"], own).status).toBe(0);
      const applied = (...given: string[]) =>
        terraform(
          ["apply", "-auto-approve", "-input=false", "-no-color", ...given.map((each) => `-var=${each}`)],
          own,
        );
      const values = () =>
        z
          .object({
            parameters: z.object({ value: z.record(z.string(), z.string()) }),
            template: z.object({ value: z.string() }),
          })
          .parse(JSON.parse(terraform(["output", "-json"], own).stdout));
      expect(applied().status).toBe(0);
      const defaults = z.object({ Default: z.string() }).partial();
      const declared = templateIn(files[0] ?? "").Parameters;
      for (const [name, value] of Object.entries(values().parameters.value))
        expect(value, name).toBe(defaults.parse(declared[name]).Default);
      expect(values().template.value).toBe("carillon.template.json");
      expect(applied("vpc_id=vpc-1", "slow_concurrency=20", "dashboard=false").status).toBe(0);
      expect(values().parameters.value).toMatchObject({
        VpcId: "vpc-1",
        SlowConcurrency: "20",
        Dashboard: "false",
      });
      expect(values().template.value).toBe("carillon-in-vpc.template.json");
      const refused = applied("database_class=t9.nano");
      expect(refused.status).toBe(1);
      expect(refused.stderr).toContain("It takes one of t4g.small, t4g.medium");
    },
  );
});
