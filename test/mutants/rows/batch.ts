import type { Mutant } from "../mutant.ts";

const batch = "lib/command/apply-batch.ts";
const batchTest = "test/poison/batch.test.ts";

/** A batch of which one operation fails. */
export const batchRows: readonly Mutant[] = [
  {
    name: "a batch: what follows a failed operation on its key is not tried",
    file: batch,
    text: "  if (key !== null) pass.behind.add(key);\n",
    replacement: "",
    tests: [batchTest],
  },
  {
    name: "a batch: that a part failed is a step of its request",
    file: batch,
    text: "    await noteFailure(pass.sql, failure);\n",
    replacement: "    void noteFailure;\n",
    tests: ["test/api/idempotency-parts.test.ts", batchTest],
  },
  {
    name: "a batch: an answer with an operation that failed is not kept",
    file: batch,
    text: "    leaveOpen();\n",
    replacement: "    void leaveOpen;\n",
    tests: [batchTest],
  },
  {
    name: "a batch: a request that is worked again tries what failed once more",
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
    name: "a batch: no part is begun when its time is up",
    file: batch,
    text: "const beginMs = 23_000;",
    replacement: "const beginMs = Number.MAX_SAFE_INTEGER;",
    tests: ["test/command/apply-batch.test.ts"],
  },
];
