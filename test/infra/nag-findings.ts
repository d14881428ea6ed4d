import { Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import type { IConstruct } from "constructs";
import { z } from "zod";
import { stackOf } from "./synthesised.ts";
import { variants } from "./variants.ts";

export interface Finding {
  rule: string;
  path: string;
}

export interface Reason extends Finding {
  reason: string;
}

export interface Checked {
  /** Findings without a reason, with the set of settings. */
  open: (Finding & { variant: string })[];
  /** All findings, as if no reasons were given. */
  found: Finding[];
  reasons: Reason[];
}

const acknowledged = z.record(z.string(), z.string());

/**
 * Checks every set of settings by the rules of AWS Solutions, and collects the reasons that
 * constructs give.
 */
export function checked(): Checked {
  const open: Checked["open"] = [];
  const found: Finding[] = [];
  const reasons = new Map<string, Reason>();
  for (const [variant, settings] of Object.entries(variants)) {
    const stack = stackOf(settings);
    open.push(...findings(new AwsSolutionsChecks(), stack).map((each) => ({ ...each, variant })));
    // Ignores the given reasons.
    const strict = Object.defineProperty(new AwsSolutionsChecks(), "isAcknowledged", { value: () => false });
    found.push(...findings(strict, stack));
    for (const construct of stack.node.findAll())
      for (const each of reasonsOf(construct)) reasons.set(`${each.rule} ${each.path}`, each);
  }
  return { open, found, reasons: [...reasons.values()] };
}

function findings(checks: AwsSolutionsChecks, stack: IConstruct): Finding[] {
  return checks
    .validateScope(stack)
    .violations.flatMap(({ ruleName, violatingResources }) =>
      violatingResources.map(({ constructPath = "" }) => ({ rule: ruleName, path: constructPath })),
    );
}

function reasonsOf(construct: IConstruct): Reason[] {
  return construct.node.metadata
    .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
    .flatMap(({ data }) => Object.entries(acknowledged.parse(data)))
    .map(([id, reason]) => ({ rule: id.replace(/^annotation::/i, ""), path: construct.node.path, reason }))
    .filter(({ rule }) => rule.startsWith("AwsSolutions-"));
}

/**
 * The rules that are not followed, with the constructs that do not follow them: a row for each
 * reason.
 */
export function reasonsTable(reasons: readonly Reason[]): string {
  const places = new Map<string, Set<string>>();
  for (const { rule, path, reason } of reasons) {
    const short = rule.replace("AwsSolutions-", "").replace(/\[.*/, "");
    const key = `${short} | ${reason.replaceAll("|", "\\|")}`;
    const where = path.split("/").filter((part) => !["Carillon", "Default", "Resource"].includes(part));
    places.set(key, (places.get(key) ?? new Set()).add(where.join("/") || "the stack"));
  }
  const rows = [...places].map(([key, where]) => {
    const [rule, reason] = key.split(" | ");
    return `| ${rule} | ${[...where].sort().join(", ")} | ${reason} |`;
  });
  return ["| rule | where | why it is not followed |", "|---|---|---|", ...rows.toSorted()].join("\n");
}
