import { type PlainTemplate, plainTemplate } from "../../../infra/tools/template/plain-template.ts";
import { templateFiles } from "../../../infra/tools/template/write-deployment.ts";

const made = new Map<string, PlainTemplate>();

/** The templates with no settings given, each made once, and without the code of the functions. */
export function plain(file: (typeof templateFiles)[keyof typeof templateFiles]): PlainTemplate {
  const before = made.get(file);
  if (before !== undefined) return before;
  const now = plainTemplate({}, file === templateFiles.inVpc);
  made.set(file, now);
  return now;
}
