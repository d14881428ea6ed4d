import type { Gap } from "./gaps.ts";
import type { ByType, Held } from "./read-back.ts";

export interface Section {
  readonly title: string;
  readonly settings: string;
  readonly gaps: readonly Gap[];
  readonly types: readonly ByType[];
  readonly held: readonly Held[];
  /** The smoke test's output, when the functions can run. */
  readonly smoke: string | undefined;
}

/** The page of a run, docs/emulator.md. */
export function page(emulator: string, sections: readonly Section[]): string {
  return `# The template in an emulator

<!-- Written by \`npm run emulate\`; edit test/emulate/ instead. -->

\`npm run emulate\` deploys the synthesised template into the CloudFormation of \`${emulator}\`, an emulator by other authors that runs without Docker. It uses the unmodified CLI of the CDK, with bootstrap,
assets and change set. Then it reads the created resources back through each service's own API. The emulator enforces no rights and no network, so refusals by IAM or a security group do not show here. Each run writes this page, and
its numbers are those of the last run: the template may have more resources since.

${sections.map(sectionText).join("\n")}`;
}

function sectionText({ title, settings, gaps, types, held, smoke }: Section): string {
  const inTemplate = types.reduce((sum, each) => sum + each.inTemplate, 0);
  const created = types.reduce((sum, each) => sum + each.created, 0);
  return `## ${title}

Settings: ${settings}. ${created} of ${inTemplate} resources were created; the others are gaps of the emulator.

| what the emulator lacks | what was done |
|---|---|
${gaps.map(({ what, treatment }) => `| ${what} | ${treatment} |`).join("\n")}

| expectation of each | of type | resources | |
|---|---|---|---|
${held.map(({ type, says, resources, faults }) => `| ${says} | \`${type}\` | ${resources} | ${faults.length === 0 ? "holds" : faults.join("; ")} |`).join("\n")}

| type | in the template | created |
|---|---|---|
${types.map(({ type, inTemplate: all, created: made }) => `| \`${type}\` | ${all} | ${made} |`).join("\n")}
${smoke === undefined ? "" : `\nThen \`npm run smoke\`, through the deployed API, functions and queues:\n\n\`\`\`\n${withoutNames(smoke)}\n\`\`\`\n`}`;
}

/** Names and instants differ in each run, so they are masked. */
export function withoutNames(text: string): string {
  return text
    .trim()
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "…")
    .replaceAll(/due \d{4}\S+/g, "due …")
    .replaceAll(/http:\/\/\S+/g, "http://…")
    .replaceAll(/\d+ ms after/g, "… ms after");
}
