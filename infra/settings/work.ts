import { z } from "zod";
import { ingestPrefixForm, ingestPrefixPattern } from "../../lib/config/prefix-rates.ts";
import { textList, textOrToken, wholeNumber } from "./shapes.ts";

/** Concurrency. */
export const workSettings = {
  /**
   * The highest number of concurrent workers for queues and event buses; each may hold two database
   * connections. A job that is created a few seconds before it is due occupies a worker for up to a
   * second.
   */
  fastConcurrency: wholeNumber(2, 1_000).default(4),
  /**
   * The highest number of concurrent workers for handlers, functions and webhooks; each may hold
   * four database connections, two of them for handlers' transactions. A job that is created a few
   * seconds before it is due occupies a worker for up to a second.
   */
  slowConcurrency: wholeNumber(2, 1_000).default(10),
  /**
   * The highest number of concurrent invocations that drain the queue of commands; each may hold
   * two database connections.
   */
  ingestConcurrency: wholeNumber(2, 1_000).default(2),
  /** The prefix of keys that commands from the queue may name. Default: all keys. */
  ingestPrefix: z.string().regex(ingestPrefixPattern, ingestPrefixForm).optional(),
  /**
   * The roles and users, also of other accounts, that alone may send commands to the queue; services
   * such as EventBridge are not affected. Default: the policies of this account's IAM decide.
   */
  commandSenders: textList(
    textOrToken(
      /^arn:[\w-]+:iam::\d{12}:(role|user)\/[\w+=.@/-]+$/,
      "it takes ARNs of roles and users, separated by commas",
    ),
    "callers may assume a common role",
  ),
  /**
   * EventBridge rules of other stacks that may send commands to the queue; a name may end in `*`.
   * Default: only this app's own watches.
   */
  watchRuleArns: textList(
    textOrToken(
      /^arn:[\w-]+:events:[\w-]+:\d{12}:rule\/[\w./-]+\*?$/,
      "it takes ARNs of rules with account, region and name, separated by commas",
    ),
    "name many at once by ending them with *",
  ),
};
