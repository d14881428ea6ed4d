import { z } from "zod";
import { eventSourceForm, eventSourcesTakes, parseTargetPrefix } from "../../lib/config/target-settings.ts";
import { charactersOf, parsedText, textList, textOrToken } from "./shapes.ts";

/** Targets of schedules. */
export const targetsSettings = {
  /**
   * The queues that schedules may name. Default: those of this account and region with names that
   * start with `carillon-target-`.
   */
  targetQueueArns: arns(/^arn:[\w-]+:sqs:[\w-]+:\d{12}:[\w-]+(\.fifo|\*)?$/),
  /**
   * The event buses that schedules may name. Default: the default bus of this account and region.
   */
  targetBusArns: arns(/^arn:[\w-]+:events:[\w-]+:\d{12}:event-bus\/[\w./-]+\*?$/),
  /**
   * The sources that events of schedules may have; a `*` at the end stands for all that begin so.
   * Default: `carillon`, which a list has to name itself.
   */
  targetEventSources: textList(
    textOrToken(eventSourceForm, eventSourcesTakes),
    "name many at once by ending them with *",
  ),
  /**
   * The Lambda functions that schedules may name. Default: those of this account and region with
   * names that start with `carillon-target-`.
   */
  targetFunctionArns: arns(/^arn:[\w-]+:lambda:[\w-]+:\d{12}:function:[\w-]+\*?$/),
  /**
   * The targets that only schedules of some keys may name, each behind the prefix of these keys:
   * `billing:=queue/billing-*`. Kinds are `queue`, `bus`, `source`, `function` and `handler`; a name may end
   * in `*`. Without an entry, schedules of all keys may name a target.
   */
  targetPrefixes: textList(parsedText(parseTargetPrefix), "name many at once by ending them with *"),
  /**
   * Public networks that webhooks must not reach, such as your own offices'. Private networks are
   * never reachable.
   */
  webhookDenyNetworks: networks(),
};

/** The other variables of these functions take the rest of Lambda's 4 KB. */
const charactersTogetherMax = 2_000;

/**
 * Limits the length of these lists together: some functions receive all of them in their
 * environment.
 */
export function fitTogether(
  given: z.infer<z.ZodObject<typeof targetsSettings>>,
  context: z.core.$RefinementCtx,
): void {
  const { targetQueueArns, targetBusArns, targetEventSources, targetFunctionArns } = given;
  const { targetPrefixes, webhookDenyNetworks } = given;
  const lists = [
    ...[targetQueueArns, targetBusArns, targetEventSources, targetFunctionArns],
    ...[targetPrefixes, webhookDenyNetworks],
  ];
  if (charactersOf(lists.flat()) <= charactersTogetherMax) return;
  context.addIssue({
    code: "custom",
    path: ["targetQueueArns"],
    message: `with targetBusArns, targetEventSources, targetFunctionArns, targetPrefixes and webhookDenyNetworks it takes at most ${charactersTogetherMax} characters; name many at once by ending them with *`,
  });
}

/**
 * A name may end in `*` to match many; account and region may not, so that a schedule never reaches
 * another account by accident.
 */
function arns(pattern: RegExp) {
  return textList(
    textOrToken(pattern, "it takes ARNs with account, region and name, separated by commas"),
    "name many at once by ending them with *",
  );
}

function networks() {
  return textList(
    textOrToken(
      z.union([z.cidrv4(), z.cidrv6()]),
      "it takes networks such as 203.0.113.0/24, separated by commas",
    ),
    "unite some of them",
  );
}
