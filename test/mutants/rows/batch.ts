import type { Mutant } from "../mutant.ts";

const batch = "lib/command/apply-batch.ts";
const outside = "lib/edit/search-outside.ts";
const bulkTest = "test/batch/bulk-change.test.ts";
const batchTest = "test/poison/batch.test.ts";
const inside = "lib/batch/edits-inside.ts";
const insideTest = "test/batch/search-in-handler.test.ts";
const outsideTest = "test/edit/search-outside.test.ts";

/** A batch with a failed operation, and the work of an edit before it takes its locks. */
export const batchRows: readonly Mutant[] = [
  {
    name: "a bulk action leaves a schedule that no longer matches",
    file: "lib/batch/apply-wave.ts",
    text: "const isMeant = operation.isMeant?.(current, state.now) ?? true;",
    replacement: "const isMeant = true;",
    tests: [bulkTest],
  },
  {
    name: "a divided batch closes the gates for at most 25 edits done one by one",
    file: "lib/batch/apply-wave.ts",
    text: "divided: 25,",
    replacement: "divided: 100,",
    tests: ["test/batch/apply-operations.test.ts", "test/api/batch.test.ts"],
  },
  {
    name: "a divided batch closes the gates for at most 4,000 jobs that it replaces",
    file: "lib/batch/jobs-budget.ts",
    text: "divided: 4_000,",
    replacement: "divided: 15_000,",
    tests: ["test/batch/dense-edits.test.ts"],
  },
  {
    name: "a batch that is divided because of its jobs is divided by shards",
    file: "lib/batch/jobs-budget.ts",
    text: "items.toSorted((a, b) => shardOf(a) - shardOf(b))",
    replacement: "[...items]",
    tests: ["test/batch/dense-edits.test.ts"],
  },
  {
    name: "edits done one by one in earlier waves count",
    file: "lib/batch/apply-waves.ts",
    text: "budget.used += wave.oneByOne + 1;",
    replacement: "budget.used += 0;",
    tests: ["test/batch/apply-operations.test.ts"],
  },
  {
    name: "a bulk action keeps its failures for a repeated request",
    file: "lib/batch/bulk-change.ts",
    text: "await noteFailure(deps.sql, kept);",
    replacement: "",
    tests: ["test/api/idempotency-bulk.test.ts"],
  },
  {
    name: "a bulk action has no audit entry for each schedule",
    file: "lib/schedule/write-many.ts",
    text: "originText(author)}::text::jsonb\n    from raised where ${author.bulk === undefined}`;",
    replacement: "originText(author)}::text::jsonb\n    from raised`;",
    tests: [bulkTest],
  },
  {
    name: "a handler's edits release their locks during a search",
    file: inside,
    text: "if (error instanceof FarSearch || isEditConflict(error)) await tx`rollback",
    replacement: "if (isEditConflict(error)) await tx`rollback",
    tests: [insideTest],
  },
  {
    name: "the searches of a handler's puts run before their locks",
    file: inside,
    text: "  await foreseeRuns(tx, operations, bounded);\n",
    replacement: "",
    tests: [insideTest],
  },
  {
    name: "all searches for a handler's edits run together",
    file: inside,
    text: "foresee: () => foreseeEdits(tx, operations, bounded),",
    replacement: "",
    tests: [insideTest],
  },
  {
    name: "a batch: operations on a key after a failed one are not tried",
    file: batch,
    text: "  if (key !== null) pass.behind.add(key);\n",
    replacement: "",
    tests: [batchTest],
  },
  {
    name: "a batch: the failure of a part is recorded in its request",
    file: batch,
    text: "    await noteFailure(pass.sql, failure);\n",
    replacement: "    void noteFailure;\n",
    tests: ["test/api/idempotency-parts.test.ts", batchTest],
  },
  {
    name: "a batch: an answer with a failed operation is not stored",
    file: batch,
    text: "    leaveOpen();\n",
    replacement: "    void leaveOpen;\n",
    tests: [batchTest],
  },
  {
    name: "a batch: a repeated request retries the failed operations",
    file: batch,
    text: "    if (isRepeating()) continue;\n",
    replacement: "    void isRepeating;\n",
    tests: [batchTest],
  },
  {
    name: "a batch: a part that hangs is given up",
    file: batch,
    text: "const partStatementMs = 1_000;",
    replacement: "const partStatementMs = 60_000;",
    tests: [batchTest],
  },
  {
    name: "a batch: no part starts when its time is up",
    file: batch,
    text: "const beginMs = 23_000;",
    replacement: "const beginMs = Number.MAX_SAFE_INTEGER;",
    tests: ["test/command/apply-batch.test.ts"],
  },
  {
    name: "an edit makes no long search under its locks",
    file: outside,
    text: "return await withoutFarSearches(transaction);",
    replacement: "void withoutFarSearches;\n      return await transaction();",
    tests: [outsideTest],
  },
  {
    name: "the searches for all edits of a batch run together",
    file: outside,
    text: "if (searches === 0) await foresee();",
    replacement: "void foresee;",
    tests: [outsideTest],
  },
  {
    name: "several long searches of one cadence are cached",
    file: "lib/cadence/far-searches.ts",
    text: "[far, ...others].slice(0, searchesMax)",
    replacement: "[far, ...others].slice(0, 1)",
    tests: [outsideTest],
  },
];
