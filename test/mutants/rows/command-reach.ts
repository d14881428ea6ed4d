import type { Mutant } from "../mutant.ts";

const restrictedTest = "test/inbox/restricted-reach.test.ts";
const foreignTest = "test/ingest/foreign-keys.test.ts";

/** A restricted role and a team's queue act for their keys only, and their refused commands are listed to no other team. */
export const commandReachRows: readonly Mutant[] = [
  {
    name: "inbox: a restricted role acts with the reach of its prefix",
    file: "lib/inbox/read-inbox.ts",
    text: "reach: reachOf(reach), origin",
    replacement: "reach: reachOf(reach && null), origin",
    tests: [restrictedTest],
  },
  {
    name: "inbox: of several prefixes the longest one counts",
    file: "lib/inbox/sql/send_command.sql",
    text: "order by length(p) desc limit 1",
    replacement: "order by length(p) limit 1",
    tests: [restrictedTest],
  },
  {
    name: "a command has the key of its verb, and of no other member",
    file: "lib/command/command-shape.ts",
    text: "const value: unknown = verb === null ? undefined : Reflect.get(input, verb);",
    replacement: "const value: unknown = verb === undefined ? undefined : Object.values(input)[0];",
    tests: [foreignTest],
  },
  {
    name: "a command with two verbs has no key",
    file: "lib/command/command-shape.ts",
    text: "return others.length === 0 ? verb : null;",
    replacement: "return others.length < 9 ? verb : null;",
    tests: [foreignTest],
  },
  {
    name: "a command that is repeated after a retry has the reach of the admin who retries",
    file: "lib/ingest/apply-chunk.ts",
    text: "operationAgain(deps, kept, now, as);",
    replacement: "operationAgain(deps, kept, now, as && undefined);",
    tests: ["test/ingest/hold-reach.test.ts"],
  },
];
