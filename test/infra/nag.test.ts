import { Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import type { IConstruct } from "constructs";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { stackOf } from "./synthesised.ts";
import { variants } from "./variants.ts";

interface Finding {
  rule: string;
  path: string;
}

const acknowledged = z.record(z.string(), z.string());
/** Reasons that a construct gives, by the rule. */
const given = new Map<string, { path: string; rule: string; reason: string }>();
const open: (Finding & { variant: string })[] = [];
const found: Finding[] = [];

beforeAll(() => {
  for (const [variant, settings] of Object.entries(variants)) {
    const stack = stackOf(settings);
    open.push(...findings(new AwsSolutionsChecks(), stack).map((each) => ({ ...each, variant })));
    // As if nothing had been given a reason.
    const strict = Object.defineProperty(new AwsSolutionsChecks(), "isAcknowledged", { value: () => false });
    found.push(...findings(strict, stack));
    for (const construct of stack.node.findAll()) noteReasons(construct);
  }
});

function findings(checks: AwsSolutionsChecks, stack: IConstruct): Finding[] {
  return checks
    .validateScope(stack)
    .violations.flatMap(({ ruleName, violatingResources }) =>
      violatingResources.map(({ constructPath = "" }) => ({ rule: ruleName, path: constructPath })),
    );
}

function noteReasons(construct: IConstruct): void {
  for (const { type, data } of construct.node.metadata) {
    if (type !== Validations.ACKNOWLEDGED_RULES_METADATA_KEY) continue;
    for (const [id, reason] of Object.entries(acknowledged.parse(data))) {
      const rule = id.replace(/^annotation::/i, "");
      if (rule.startsWith("AwsSolutions-")) {
        const { path } = construct.node;
        given.set(`${rule} ${path}`, { path, rule, reason });
      }
    }
  }
}

test("with every set of settings, AWS Solutions finds nothing that has no reason", () => {
  expect(open).toEqual([]);
  // It has looked at something.
  expect(found.length).toBeGreaterThan(50);
});

test("no reason is given for what nobody finds, and each is a sentence", () => {
  const idle = [...given.values()].filter(
    ({ rule, path }) => !found.some((each) => each.rule === rule && `${each.path}/`.startsWith(`${path}/`)),
  );
  expect(idle).toEqual([]);
  for (const { reason } of given.values()) expect(reason).toMatch(/^[A-Za-z].{40,}\.$/);
});
