import type { Mutant } from "../mutant.ts";

const handler = "lib/api/handler.ts";
const principals = "lib/api/sign-in/principals.ts";
const once = "lib/api/request/idempotency.ts";
const body = "lib/api/request/json-body.ts";
const cursor = "lib/api/request/cursor.ts";
const preconditions = "lib/api/request/preconditions.ts";

const handlerTest = "test/api/handler.test.ts";
const principalsTest = "test/api/principals.test.ts";
const idempotencyTest = "test/api/idempotency.test.ts";
const bodyTest = "test/api/json-body.test.ts";
const cursorTest = "test/api/cursor.test.ts";
const conditionalTest = "test/api/conditional.test.ts";
const timeLimitsTest = "test/api/time-limits.test.ts";
const requestTimeTest = "test/db/request-time.test.ts";
const workRatesTest = "test/api/work-rates.test.ts";

/** Requests over HTTP: their authorization, their limits, and how often they are applied. */
export const apiRows: readonly Mutant[] = [
  {
    name: "api: a statement of a count has the limit of its kind",
    file: "lib/db/sql.ts",
    text: "if (time === undefined || time.statementMs === null) pool.run",
    replacement: "if (time === undefined || time.until > 0) pool.run",
    tests: [timeLimitsTest],
  },
  {
    name: "api: a transaction has the limit of its request's kind",
    file: "lib/db/transaction.ts",
    text: "sendBegin(control, time, mode)",
    replacement: "sendBegin(control, undefined, mode)",
    tests: [timeLimitsTest],
  },
  {
    name: "api: a statement with a limit is answered after its commit",
    file: "lib/db/sql.ts",
    text: "void ended.then(() => resolve(rows), reject)",
    replacement: "resolve(rows)",
    tests: [requestTimeTest],
  },
  {
    name: "api: the connection of a statement is cut at the end of its request",
    file: "lib/db/pool.ts",
    text: "const inTime = cutAtEnd(time, slot.line.cut);",
    replacement: "const inTime = cutAtEnd(undefined, slot.line.cut);",
    tests: [requestTimeTest],
  },
  {
    name: "api: the connection of a transaction is cut at the end of its request",
    file: "lib/db/transaction.ts",
    text: "cutAtEnd(time, lent.cut)",
    replacement: "cutAtEnd(undefined, lent.cut)",
    tests: [requestTimeTest],
  },
  {
    name: "api: the login counts toward the time of a request",
    file: handler,
    text: "until: performance.now() + limits.bulk.wholeMs",
    replacement: "until: Number.MAX_VALUE",
    tests: [timeLimitsTest],
  },
  {
    name: "api: a count that takes too long is not to be repeated",
    file: "lib/api/request/in-time.ts",
    text: 'kind === "count" && method',
    replacement: 'kind === "bulk" && method',
    tests: [timeLimitsTest],
  },
  {
    name: "api: each route requires its scope",
    file: "lib/api/request/router.ts",
    text: "if (!allows(token, route.scope))",
    replacement: "if (false)",
    tests: [handlerTest],
  },
  {
    name: "api: a path that is spelled another way is another path",
    file: "lib/api/request/router.ts",
    text: "name === undefined ? part !== segment : segment",
    replacement: "name === undefined ? part !== decodedSegment(segment) : segment",
    tests: [handlerTest],
  },
  {
    name: "api: the rate limit of a token limits its requests",
    file: handler,
    text: "      exchange.charge = await admit(token);\n",
    replacement: "      exchange.charge = { take: async () => {}, giveBack: async () => {} };\n",
    tests: [principalsTest],
  },
  {
    name: "api: the work of a request is charged before it is done",
    file: "lib/api/request/route.ts",
    text: "  if (units > 1) await charge.take(units - 1);\n",
    replacement: "",
    tests: [workRatesTest],
  },
  {
    name: "api: units that work did not need are given back",
    file: "lib/api/request/route.ts",
    text: "if (spent < units) await",
    replacement: "if (spent > units) await",
    tests: [workRatesTest],
  },
  {
    name: "api: a token with a rate takes from its maker's bucket too",
    file: "lib/token/token-rates.ts",
    text: "isOwn ? rates : rates.slice(0, -1)",
    replacement: "rates.slice(0, -1)",
    tests: [workRatesTest],
  },
  {
    name: "api: a bucket in debt admits no work",
    file: "lib/token/rate-buckets.ts",
    text: "min(count - used) < ${mustHold}",
    replacement: "min(count - used) < ${mustHold} - 1e9",
    tests: ["test/token/rate.test.ts"],
  },
  {
    name: "api: units of a bucket are taken by one request after the other",
    file: "lib/token/rate-buckets.ts",
    text: "      for update of b\n",
    replacement: "",
    tests: ["test/token/rate.test.ts"],
  },
  {
    name: "api: a share of a rate limit is valid for a moment only",
    file: "lib/api/sign-in/rate-limit.ts",
    text: "now - share.takenAt < shareMs;",
    replacement: "now >= share.takenAt;",
    tests: ["test/api/rate-share.test.ts"],
  },
  {
    name: "api: an allowed IAM principal does not admit one whose name only begins the same",
    file: "lib/config/allowed-principals.ts",
    text: ": arn === pattern;",
    replacement: ": arn.startsWith(pattern);",
    tests: [principalsTest],
  },
  {
    name: "api: a scope of another API in a JWT gives no access",
    file: principals,
    text: "given.includes(`${scopePrefix}${one}`)",
    replacement: "given.some((word) => word.endsWith(one))",
    tests: [principalsTest],
  },
  {
    name: "api: an empty claim of a JWT reaches no key",
    file: principals,
    text: 'if (typeof claim !== "string" || claim === "")',
    replacement: 'if (typeof claim !== "string")',
    tests: [principalsTest],
  },
  {
    name: "api: a JWT without a subject gives no access",
    file: principals,
    text: 'if (typeof subject !== "string" || subject === "")',
    replacement: 'if (typeof subject !== "string")',
    tests: [principalsTest],
  },
  {
    name: "api: an answer under one prefix is not repeated under another",
    file: principals,
    text: "JSON.stringify([principal.identity, principal.prefix])",
    replacement: "JSON.stringify([principal.identity])",
    tests: [principalsTest],
  },
  {
    name: "api: a stored answer is encrypted with the caller's secret",
    file: once,
    text: "const seal = sealOf(request.secret);",
    replacement: 'const seal = sealOf("");',
    tests: [idempotencyTest, principalsTest],
  },
  {
    name: "api: an Idempotency-Key with another If-Match is refused",
    file: once,
    text: 'headers["if-match"] ?? null, headers',
    replacement: "null, headers",
    tests: [idempotencyTest],
  },
  {
    name: "api: an Idempotency-Key with another body is refused",
    file: once,
    text: '    .update(Buffer.from(body, isBase64Encoded ? "base64" : "utf8"))\n',
    replacement: "",
    tests: [idempotencyTest],
  },
  {
    name: "api: a temporary refusal is not stored under the Idempotency-Key",
    file: once,
    text: "if (!(error instanceof PassingConflict) && isKept(response.statusCode)) return response;",
    replacement: "if (isKept(response.statusCode)) return response;",
    tests: ["test/api/idempotency-passing.test.ts"],
  },
  {
    name: "api: the refusal of a malformed request is not stored under the Idempotency-Key",
    file: once,
    text: "[404, 409, 412, 422].includes(status)",
    replacement: "[400, 404, 409, 412, 415, 422].includes(status)",
    tests: [idempotencyTest],
  },
  {
    name: "api: a replacement needs If-Match where the deployment requires it",
    file: preconditions,
    text: "run: requireIfMatch ? demanding(route) : run,",
    replacement: "run,",
    tests: [conditionalTest],
  },
  {
    name: "api: a restore needs If-Match where the deployment requires it",
    file: preconditions,
    text: '(replaces.has(method) || path.endsWith("/restore"))',
    replacement: "replaces.has(method)",
    tests: [conditionalTest],
  },
  {
    name: "api: a weak entity tag matches nothing",
    file: "lib/api/request/etag.ts",
    text: "weak === undefined && version.test(opaque)",
    replacement: "version.test(opaque)",
    tests: ["test/api/etag.test.ts"],
  },
  {
    name: "api: a cursor of another list is refused",
    file: cursor,
    text: " || parsed[0] !== list) return null;",
    replacement: ") return null;",
    tests: [cursorTest],
    equivalent:
      "A cursor of another list also differs from the one that this list would write for the same place.",
  },
  {
    name: "api: a cursor that is no position of its list is refused",
    file: cursor,
    text: "after !== null && isPlace(after) && writeCursor",
    replacement: "after !== null && writeCursor",
    tests: [cursorTest],
  },
  {
    name: "api: a cursor that was written by hand is refused",
    file: cursor,
    text: " && writeCursor(list, after) === cursor) return after;",
    replacement: ") return after;",
    tests: [cursorTest],
  },
  {
    name: "api: a cursor is valid with its own filter only",
    file: "lib/api/request/search-cursor.ts",
    text: "text.startsWith(mark) && isPlace",
    replacement: "isPlace",
    tests: ["test/api/search.test.ts"],
  },
  {
    name: "api: a body has five megabytes at most",
    file: body,
    text: "if (bytes.byteLength > bodyBytesMax) {",
    replacement: "if (bytes.byteLength > 2 * bodyBytesMax) {",
    tests: [bodyTest],
  },
  {
    name: "api: a body of too many values is refused before it is read",
    file: body,
    text: "  refuseMany(text);\n",
    replacement: "",
    tests: [bodyTest],
  },
  {
    name: "api: a body that is nested too deep is refused before it is read",
    file: body,
    text: "  refuseDeep(text);\n",
    replacement: "",
    tests: [bodyTest],
  },
  {
    name: "api: a number that JSON would change is refused",
    file: body,
    text: "  refuseInexactNumbers(text);\n",
    replacement: "",
    tests: [bodyTest],
  },
  {
    name: "api: a query parameter may be given only once",
    file: "lib/api/request/request.ts",
    text: "if (members.has(name)) {",
    replacement: "if (false) {",
    tests: [handlerTest],
  },
  {
    name: "api: the client's name from the request is shortened",
    file: "lib/api/request/caller.ts",
    text: "    ?.slice(0, lengthMax)\n    .replaceAll",
    replacement: "    ?.replaceAll",
    tests: ["test/api/audit.test.ts"],
  },
  {
    name: "api: the client's name from the request can be stored",
    file: "lib/api/request/caller.ts",
    text: '\n    .replaceAll(/\\p{Cc}/gu, " ")\n',
    replacement: "\n",
    tests: ["test/api/audit.test.ts"],
  },
  {
    name: "api: a principal of IAM reaches only the keys of its entry",
    file: principals,
    text: "scope: powers.scope, prefix: powers.prefix }",
    replacement: "scope: powers.scope, prefix: null }",
    tests: [principalsTest],
  },
  {
    name: "api: an Idempotency-Key for another path is refused",
    file: once,
    text: "const asked = [method, path, query,",
    replacement: "const asked = [method, query,",
    tests: [idempotencyTest],
  },
  {
    name: "api: a cancel of many jobs needs a filter",
    file: "lib/api/request/job-filter.ts",
    text: "Object.values(owners).some((owner) => owner !== undefined)",
    replacement: "Object.values(owners) !== undefined",
    tests: ["test/api/jobs.test.ts"],
  },
  {
    name: "api: a bulk verb does ten thousand at most",
    file: "lib/api/request/job-filter.ts",
    text: "z.int().min(1).max(bulkMax)",
    replacement: "z.int().min(1)",
    tests: ["test/api/jobs.test.ts"],
  },
  {
    name: "api: a page has a hundred items at most",
    file: "lib/api/request/query.ts",
    text: "limit: wholeNumber({ min: 1, max: 100, byDefault: 50 }),",
    replacement: "limit: wholeNumber({ min: 1, max: 100_000, byDefault: 50 }),",
    tests: [handlerTest],
  },
  {
    name: "api: a batch has a thousand operations at most",
    file: "lib/api/routes/batch-routes.ts",
    text: "    .max(batchMax)\n",
    replacement: "",
    tests: ["test/api/batch.test.ts"],
  },
];
