import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { plainTemplate } from "../../infra/tools/template/plain-template.ts";
import { synthesised } from "./synthesised.ts";
import { variants } from "./variants.ts";

// `npm run lint:cfn`: checks the template of every set of settings, and the plain templates, with
// cfn-lint, which knows CloudFormation's rules.

const root = path.join(import.meta.dirname, "..", "..");
const linter = process.env["CARILLON_CFN_LINT"] ?? "cfn-lint";
const known = "1.58.0";

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The version of the linter, or null when it is not installed. */
function versionOf(command: string): string | null {
  const { status, stdout } = spawnSync(command, ["--version"], { encoding: "utf8" });
  return status === 0 ? stdout.trim().replace(/^cfn-lint /, "") : null;
}

function lint(version: string): number {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-templates-"));
  try {
    const write = (name: string, template: unknown) => {
      const file = path.join(folder, `${name.replaceAll(/\W+/g, "-")}.json`);
      writeFileSync(file, JSON.stringify(template, null, 1));
      return file;
    };
    const files = [
      ...Object.entries(variants).map(([name, settings]) =>
        write(name, synthesised(settings).template.toJSON()),
      ),
      write("plain", plainTemplate({}, false).template),
      write("plain in a VPC", plainTemplate({}, true).template),
    ];
    // Runs in the root, where .cfnlintrc lists the ignored rules with reasons.
    const { status } = spawnSync(linter, ["--", ...files], { cwd: root, stdio: "inherit" });
    say(`cfn-lint ${version}: ${files.length} templates, ${status === 0 ? "nothing found" : "see above"}.`);
    return status ?? 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const version = versionOf(linter);
if (version === null) {
  say(
    `Skipped: ${linter} is not installed. Run pip install cfn-lint==${known}, or name one in CARILLON_CFN_LINT. No template was checked.`,
  );
} else {
  process.exitCode = lint(version);
}
