import type { Template } from "../gaps.ts";
import { withoutNames } from "../page.ts";
import type { Read } from "./read-deployed.ts";
import type { Adapted, LeftOut } from "./without-lambda.ts";

export interface Counts {
  readonly inTemplate: number;
  readonly deployed: number;
  /** Queues that only this command adds. */
  readonly added: number;
}

export function countsOf(whole: Template, { leftOut, ruleFeeds }: Adapted): Counts {
  const inTemplate = Object.keys(whole.Resources).length;
  return { inTemplate, deployed: inTemplate - leftOut.length, added: ruleFeeds.length };
}

/** One line for each type of resource that was left out. */
export function leftOutLines(leftOut: readonly LeftOut[]): string[] {
  return byType(leftOut).map(([type, those]) => `${those.length} ${type}: ${those[0]?.why}`);
}

function byType(leftOut: readonly LeftOut[]): [string, LeftOut[]][] {
  return [...Map.groupBy(leftOut, ({ type }) => type)].sort(([one], [other]) => (one < other ? -1 : 1));
}

export interface Result {
  readonly pinned: string;
  readonly whole: Template;
  readonly adapted: Adapted;
  readonly read: readonly Read[];
  /** The text that the command printed. */
  readonly said: string;
}

const begin = "<!-- host mode: written by `npm run localstack:host` -->";
const end = "<!-- end of host mode -->";

/** The page with the result of a run between its marks. */
export function withResult(page: string, result: Result): string {
  const [before, rest] = page.split(begin);
  const [, after] = rest?.split(end) ?? [];
  if (before === undefined || after === undefined) throw new Error("The page has no marks of host mode.");
  return `${before}${begin}\n\n${resultText(result)}\n${end}${after}`;
}

function resultText({ pinned, whole, adapted, read, said }: Result): string {
  const { inTemplate, deployed, added } = countsOf(whole, adapted);
  return `The last run, with \`${pinned}\`: ${deployed} of ${inTemplate} resources of the profile were deployed, ${adapted.leftOut.length} were left out, and ${added} queue was added.
The template may have more resources since that run.

| type | in the template | deployed | why others were left out |
|---|---|---|---|
${typesOf(whole, adapted)
  .map(
    ({ type, all, leftOut }) =>
      `| \`${type}\` | ${all} | ${all - leftOut.length} | ${leftOut[0]?.why ?? ""} |`,
  )
  .join("\n")}

Then the deployed resources were read through the API of each service:

| expectation of each | of type | resources | |
|---|---|---|---|
${read.map(({ type, says, resources, result }) => `| ${says} | \`${type}\` | ${resources} | ${result} |`).join("\n")}

The command printed, besides these:

\`\`\`
${withoutNames(said.replaceAll(/^(left out|read back) .*\n/gm, ""))}
\`\`\`
`;
}

function typesOf({ Resources }: Template, { leftOut }: Adapted) {
  const types = Map.groupBy(Object.values(Resources), ({ Type }) => Type);
  return [...types.keys()].sort().map((type) => ({
    type,
    all: types.get(type)?.length ?? 0,
    leftOut: leftOut.filter((each) => each.type === type),
  }));
}
