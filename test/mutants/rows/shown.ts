import type { Mutant } from "../mutant.ts";

const credentials = "lib/schedule/shape/target-credentials.ts";
const handler = "lib/api/handler.ts";
const body = "lib/api/request/json-body.ts";
const problems = "lib/api/request/problem-answer.ts";

const storedBody = "lib/schedule/stored/stored-body.ts";

const handlerTest = "test/api/handler.test.ts";
const bodyTest = "test/api/json-body.test.ts";
const targetsTest = "test/api/targets.test.ts";
const storedBodyTest = "test/schedule/stored-body.test.ts";
const unreadableTest = "test/api/unreadable.test.ts";
const shownTest = "test/ingest/dead-commands.test.ts";

/**
 * Answers and the log contain no credentials, no payloads where they do not belong, and no
 * internals of a failure.
 */
export const shownRows: readonly Mutant[] = [
  {
    name: "shown: a body that is not JSON is not echoed",
    file: body,
    text: 'The body is not JSON${position === undefined ? "" : ` (at character ${position})`}.',
    replacement: "The body is not JSON: ${String(error)}.",
    tests: [bodyTest],
  },
  {
    name: "shown: an answer that exceeds the gateway's limit is refused",
    file: "lib/api/request/answer.ts",
    text: "if (Buffer.byteLength(text) > answerBytesMax)",
    replacement: "if (false)",
    tests: ["test/api/answer.test.ts"],
  },
  {
    name: "shown: an answer to a failure has no details",
    file: problems,
    text: "detail: somethingFailed,",
    replacement: "detail: String(error),",
    tests: [handlerTest],
  },
  {
    name: "shown: a path cannot add lines to the log",
    file: handler,
    text: "return encodeURI(path.slice(0, 300).toWellFormed());",
    replacement: "return path;",
    tests: [handlerTest],
  },
  {
    name: "shown: the log contains no value that the database quotes",
    file: "lib/log/error-text.ts",
    text: `error.message.replace(/".*("|$)/s, '"…"')`,
    replacement: "error.message",
    tests: ["test/log/error-text.test.ts"],
  },
  {
    name: "shown: the log has only the locations of a stack trace",
    file: "lib/log/error-text.ts",
    text: 'lines.filter((line) => /^\\s+at /.test(line)).join("\\n")',
    replacement: 'lines.join("\\n")',
    tests: ["test/log/error-text.test.ts"],
  },
  {
    name: "shown: pages of other origins cannot read answers",
    file: "lib/api/request/cors.ts",
    text: "origin !== undefined && origins.has(origin) ?",
    replacement: "origin !== undefined ?",
    tests: ["test/api/cors.test.ts"],
  },
  {
    name: "shown: an answer to one origin is not reused for another",
    file: "lib/api/request/cors.ts",
    text: '          vary: "origin",\n',
    replacement: "",
    tests: ["test/api/cors.test.ts"],
  },
  {
    name: "shown: a header with a credential is not read back",
    file: credentials,
    text: "(isHidden(webhook, each) ? kept : each.value)",
    replacement: '(each.kind === "secret" ? kept : each.value)',
    tests: [targetsTest],
  },
  {
    name: "shown: a stored credential is sent to no other host",
    file: credentials,
    text: "if (value !== undefined && isSameHost)",
    replacement: "if (value !== undefined)",
    tests: [targetsTest],
  },
  {
    name: "shown: a stored credential is sent to no other port, nor unencrypted",
    file: credentials,
    text: "new URL(url).origin;",
    replacement: "new URL(url).hostname;",
    tests: ["test/schedule/target-credentials.test.ts"],
  },
  {
    name: "shown: the changes of a version contain no credential",
    file: "lib/history/versions.ts",
    text: "spec: { ...spec, target: shownIfKnown(target) }, target,",
    replacement: "spec: { ...spec, target }, target,",
    tests: [targetsTest],
  },
  {
    name: "shown: a dead command contains no credential",
    file: "lib/api/views/command-view.ts",
    text: "const hidden = withoutCredentials(command);",
    replacement: "const hidden = command;",
    tests: [shownTest],
  },
  {
    name: "shown: a dead command contains no password of a URL",
    file: "lib/command/without-credentials.ts",
    text: "return withParameters(withoutUserinfo(value), (each) =>",
    replacement: "return withParameters(value, (each) =>",
    tests: [shownTest],
  },
  {
    name: "shown: a list of dead commands has no payload",
    file: "lib/api/views/command-view.ts",
    text: "listed(withoutPayload(hidden))",
    replacement: "listed(hidden)",
    tests: [shownTest],
  },
  {
    name: "shown: a refusal of the inbox contains no credential",
    file: "lib/inbox/apply-rows.ts",
    text: "command: withoutCredentials(command),",
    replacement: "command,",
    tests: ["test/inbox/apply-inbox.test.ts", "test/inbox/inbox-api.test.ts"],
  },
  {
    name: "shown: an answer is not cached",
    file: "lib/api/request/answer.ts",
    text: '"cache-control": "no-store", ',
    replacement: "",
    tests: ["test/api/answer.test.ts"],
  },
  {
    name: "shown: the kinds of a stored body's values are checked",
    file: storedBody,
    text: "return kindByName.get(name)?.(value) ?? true;",
    replacement: "return true;",
    tests: [storedBodyTest],
  },
  {
    name: "shown: a stored target must be of a known kind",
    file: "lib/schedule/stored/stored-target.ts",
    text: "if (!isRecord(target)) return false;",
    replacement: "if (!isRecord(target)) return true;",
    tests: [storedBodyTest],
  },
  {
    name: "shown: the content of a stored target that cannot be read is not shown",
    file: storedBody,
    text: "`\\`target\\` is ${kindOf(target)}`",
    replacement: "`\\`target\\` is ${JSON.stringify(target)}`",
    tests: [storedBodyTest],
  },
  {
    name: "shown: a run without an instant cannot be read",
    file: "lib/schedule/stored/cadence-columns.ts",
    text: "return odd === null ? null :",
    replacement: "return odd !== undefined ? null :",
    tests: [unreadableTest],
  },
  {
    name: "shown: an instant outside of the clock's range is read as the nearest one within",
    file: "lib/db/instants.ts",
    text: "if (!isEarly && ms >= earliestInstant && ms <= latestInstant) return at;",
    replacement: "if (true) return at;",
    tests: ["test/db/instants.test.ts"],
  },
  {
    name: "shown: a schedule that cannot be read does not fail its page",
    file: "lib/schedule/stored/stored-spec.ts",
    text: "    return read({ ...whole,",
    replacement: "    throw error;\n    return read({ ...whole,",
    tests: ["test/schedule/stored-spec.test.ts"],
  },
  {
    name: "shown: a target that cannot be read is shown as none",
    file: credentials,
    text: 'return "handler" in target && target.handler === "" ? null : shownTarget(target);',
    replacement: "return shownTarget(target);",
    tests: [unreadableTest],
  },
  {
    name: "shown: a patch is not merged into defaults that replace an unreadable spec",
    file: "lib/edit/schedule-edits.ts",
    text: "if (unread !== null) throw",
    replacement: "if (false) throw",
    tests: [unreadableTest],
  },
  {
    name: "shown: a put of the defaults repairs a version that cannot be read",
    file: "lib/edit/schedule-edits.ts",
    text: "const same = isRead && ",
    replacement: "const same = ",
    tests: [unreadableTest],
  },
  {
    name: "shown: a hold keeps the labels, the target and the limits of a schedule that cannot be read",
    file: "lib/schedule/write-schedule.ts",
    text: "current.unread !== null && raised.spec === undefined",
    replacement: "false",
    tests: [unreadableTest],
  },
  {
    name: "shown: a hold of a group reaches a member whose labels cannot be read",
    file: "lib/batch/members/bind-members.ts",
    text: "if (unread === null && labels",
    replacement: "if (labels",
    tests: [unreadableTest],
  },
  {
    name: "shown: a name with blanks is in quotes for an agent",
    file: "lib/mcp/answer.ts",
    text: "? JSON.stringify(name) : name",
    replacement: "? name : name",
    tests: ["test/mcp/reading.test.ts"],
  },
  {
    name: "shown: the key of a listed schedule is in quotes for an agent",
    file: "lib/mcp/tools/schedule-tools.ts",
    text: "${nameText(name)}: ${state}",
    replacement: "${name}: ${state}",
    tests: ["test/mcp/reading.test.ts"],
  },
];
