import type { Mutant } from "../mutant.ts";

const line = "lib/db/line.ts";
const transaction = "lib/db/transaction.ts";
const unwritable = "lib/db/unwritable.ts";
const text = "lib/target/handler/handler-text.ts";
const attempt = "lib/target/handler/handler-transaction.ts";
const leftOpen = "lib/target/handler/left-open.ts";

const unwritableTest = "test/db/unwritable.test.ts";
const sessionTest = "test/target/handler-session.test.ts";
const textTest = "test/target/handler-text.test.ts";

/**
 * Effects of a statement on other users of its connection: values that cannot be sent, and state
 * that a handler leaves behind.
 */
export const sessionRows: readonly Mutant[] = [
  {
    name: "a statement with a value that cannot be sent is refused before it reaches the driver",
    file: line,
    text: "lost ?? unwritable(statement);",
    replacement: "lost;\n      void unwritable;",
    tests: [unwritableTest],
  },
  {
    name: "a connection is closed once the driver has failed at a statement",
    file: line,
    text: 'if (!isAnswer(error) && !failedInCallback(statement)) cut("the driver failed at a statement");',
    replacement: "void failedInCallback;\n        void isAnswer(error);",
    tests: [unwritableTest],
  },
  {
    name: "text that is not a date is left for Postgres to refuse",
    file: "lib/db/value-types.ts",
    text: "return Number.isNaN(date.getTime()) ? textOf(value) : date.toISOString();",
    replacement: "return date.toISOString();",
    tests: [unwritableTest],
  },
  {
    name: "the values of a helper are checked",
    file: unwritable,
    text: "for (const value of values) this.#note(faultOf(value));",
    replacement: "this.count += values.length;",
    tests: [unwritableTest],
  },
  {
    name: "the elements of an array are checked",
    file: unwritable,
    text: "return Array.isArray(value) ? elementFault(value) : jsonFault(value);",
    replacement: "return Array.isArray(value) ? (elementFault([]), null) : jsonFault(value);",
    tests: [unwritableTest],
  },
  {
    name: "a statement has at most as many parameters as the driver can send",
    file: unwritable,
    text: "if (fault === undefined && count <= parametersMax) return undefined;",
    replacement: "if (fault === undefined) return undefined;",
    tests: [unwritableTest],
  },
  {
    name: "a value that could not be sent fails its transaction",
    file: transaction,
    text: "    if (failures.unwritten !== undefined) throw failures.unwritten;\n",
    replacement: "",
    tests: [unwritableTest],
  },
  {
    name: "a handler's session state is discarded with its commit",
    file: transaction,
    text: "const cleared = resets ? clear(control) : undefined;",
    replacement: "const cleared = undefined as Promise<unknown> | undefined;",
    tests: [sessionTest],
  },
  {
    name: "a handler's session state is discarded when its job fails",
    file: transaction,
    text: 'tx.unsafe("rollback"), resets ? clear(tx) : undefined',
    replacement: 'tx.unsafe("rollback"), void resets',
    tests: [sessionTest],
  },
  {
    name: "the role of the session is reset",
    file: transaction,
    text: "set session authorization default; reset all;",
    replacement: "reset all;",
    tests: [sessionTest],
  },
  {
    name: "the session's temporary tables are dropped",
    file: transaction,
    text: "; discard temp`",
    replacement: "`",
    tests: [sessionTest],
  },
  {
    name: "the session's locks are released",
    file: transaction,
    text: "select pg_advisory_unlock_all(); ",
    replacement: "",
    tests: [sessionTest],
  },
  {
    name: "an unknown function call may leave session state",
    file: text,
    text: 'if (name !== "" && !harmless.has(name.toLowerCase())) return true;',
    replacement: "void name;",
    tests: [textTest, sessionTest],
  },
  {
    name: "a statement that cannot be parsed reliably may leave session state",
    file: text,
    text: "  if (unsure.test(text)) return true;\n",
    replacement: "  void unsure;\n",
    tests: [textTest, sessionTest],
  },
  {
    name: "comments before the end of a transaction are skipped",
    file: text,
    text: "/\\s+|--[^\\n\\r]*|;|\\/\\*|([a-z_]+)/iy",
    replacement: "/\\s+|([a-z_]+)/iy",
    tests: [textTest],
  },
  {
    name: "a line of comment ends where Postgres ends it",
    file: text,
    text: "--[^\\n\\r]*|;",
    replacement: "--[^\\n]*|;",
    tests: [sessionTest],
  },
  {
    name: "a handler sends one statement at a time",
    file: attempt,
    text: "    if (!isStreaming(statement)) statement.options.simple = false;\n",
    replacement: "    void isStreaming;\n",
    tests: [sessionTest],
  },
  {
    name: "a stream accepts one statement",
    file: text,
    text: " && !/;\\s*\\S/.test(text)",
    replacement: "",
    tests: [sessionTest],
  },
  {
    name: "a job that leaves a cursor or a copy open fails",
    file: attempt,
    text: "    if (this.#leftOpen?.isAny()) throw this.#cut(left);\n",
    replacement: "",
    tests: [sessionTest],
  },
  {
    name: "a failed job with an open cursor is not waited for",
    file: attempt,
    text: "    if (this.#leftOpen?.isAny()) this.#cut(left);\n",
    replacement: "",
    tests: [sessionTest],
  },
  {
    name: "a cancelled statement ends its connection",
    file: attempt,
    text: "    this.#opened?.lent?.cut(why);\n",
    replacement: "",
    tests: [sessionTest],
  },
  {
    name: "the closing of a copy's connection is noticed",
    file: leftOpen,
    text: '      if (answer instanceof Stream) answer.on("error", () => {});\n',
    replacement: "      void Stream;\n",
    tests: [sessionTest],
  },
  {
    name: "later statements report why the server refused the connection",
    file: "lib/db/line.ts",
    text: "if (endsConnection(error)) lost ??= error;",
    replacement: "",
    tests: ["test/functions/api-connections.test.ts"],
  },
  {
    name: "the API leaves the connections of ticks and workers",
    file: "lib/db/migrate/api-connections.ts",
    text: "alter role carillon_api connection limit ${limit}",
    replacement: "alter role carillon_api connection limit -1",
    tests: ["test/functions/api-connections.test.ts"],
  },
];
