import type { Mutant } from "../mutant.ts";

const prefixTest = "test/ingest/queue-prefix.test.ts";

/** The limit of a queue binds its dead commands too, and a team sees none that name its keys from outside. */
export const queuePrefixRows: readonly Mutant[] = [
  {
    name: "reach: a dead command for a key beyond its queue is shown to no team",
    file: "lib/api/routes/command-routes.ts",
    text: "isBeyondQueue(dead) ? null : dead.key",
    replacement: "dead.key",
    tests: [prefixTest],
  },
  {
    name: "reach: a list of dead commands of a team has none for a key beyond its queue",
    file: "lib/api/routes/command-routes.ts",
    text: "isForTeam: token.prefix !== null,",
    replacement: "isForTeam: false,",
    tests: [prefixTest],
  },
  {
    name: "reach: problems of a team count no dead command for a key beyond its queue",
    file: "lib/problems/set-aside.ts",
    text: " and ${isWithinQueue(tx)} order by key",
    replacement: " order by key",
    tests: [prefixTest],
  },
  {
    name: "reach: a dead command for a key beyond its queue is retried for no caller",
    file: "lib/ingest/retry-dead.ts",
    text: "if (isBeyondQueue(dead))",
    replacement: 'if (isBeyondQueue(dead) && caller.reach?.prefix !== "")',
    tests: [prefixTest],
  },
  {
    name: "reach: a retry has the limit of its queue for the key in the command",
    file: "lib/ingest/retry-dead.ts",
    text: "prefix: dead.queuePrefix };",
    replacement: "prefix: null };",
    tests: [prefixTest],
  },
];
