import { z } from "zod";
import { textList, textOrToken, wholeNumber } from "./shapes.ts";

/** How much is done at once. */
export const workSettings = {
  /** How many workers at most deliver to queues and event buses at once; each may hold two database connections. A job that is put some seconds before it is due keeps one waiting for up to a second. */
  fastConcurrency: wholeNumber(2, 1_000).default(4),
  /** How many workers at most run handlers, invoke functions and send webhooks at once; each may hold four database connections, two of them for handlers' transactions. A job that is put some seconds before it is due keeps one waiting for up to a second. */
  slowConcurrency: wholeNumber(2, 1_000).default(10),
  /** How many invocations at most drain the queue of commands at once; each may hold two database connections. */
  ingestConcurrency: wholeNumber(2, 1_000).default(2),
  /** What the keys of commands from the queue must begin with. None given: they reach every key. */
  ingestPrefix: z
    .string()
    .regex(/^[^/?#%\\\s]{1,255}$/, "it takes what keys may begin with")
    .optional(),
  /** The rules of EventBridge that stand elsewhere and may send commands to the queue; a name may end in `*`. None given: this app's own watches alone. */
  watchRuleArns: textList(
    textOrToken(
      /^arn:[\w-]+:events:[\w-]+:\d{12}:rule\/[\w./-]+\*?$/,
      "it takes ARNs of rules with account, region and name, separated by commas",
    ),
    "name many at once by ending them with *",
  ),
};
