import type { Mutant } from "../mutant.ts";

const seal = "lib/sealing/seal-credentials.ts";
const again = "lib/sealing/seal-again.ts";
const sealTest = "test/sealing/seal-credentials.test.ts";
const againTest = "test/sealing/seal-again.test.ts";
const storedTest = "test/sealing/stored-credentials.test.ts";

/** Credentials of webhooks are stored sealed, and open for their own host only. */
export const sealedRows: readonly Mutant[] = [
  {
    name: "sealed: credentials of a new schedule are sealed",
    file: "lib/edit/make-schedules.ts",
    text: "await sealCredentials(key, withCredentials(params.body.target, null), null, known)",
    replacement: "withCredentials(params.body.target, null)",
    tests: [storedTest],
  },
  {
    name: "sealed: credentials of an edit are sealed",
    file: "lib/edit/schedule-edits.ts",
    text: "await sealCredentials(current.key, given, existing, known)",
    replacement: "given",
    tests: [storedTest],
  },
  {
    name: "sealed: credentials of a batch are sealed before its transaction",
    file: "lib/batch/apply-operations.ts",
    text: "  await foreseeCredentials(deps.sql, operations);\n",
    replacement: "",
    tests: ["test/sealing/sealed-ahead.test.ts"],
  },
  {
    name: "sealed: a text that was sealed ahead is used once",
    file: seal,
    text: "  sealedAhead.delete(name);\n",
    replacement: "",
    tests: ["test/sealing/sealed-ahead.test.ts"],
  },
  {
    name: "sealed: a webhook's secret is a credential",
    file: "lib/schedule/shape/webhook-credentials.ts",
    text: 'if (kind === "secret" || isSealed(value)) return true;',
    replacement: "if (isSealed(value)) return true;",
    tests: [storedTest],
  },
  {
    name: "sealed: a credential opens for its own host only",
    file: seal,
    text: "\\n${new URL(url).origin}`",
    replacement: "`",
    tests: [sealTest],
  },
  {
    name: "sealed: a value that can be guessed has no hash",
    file: seal,
    text: 'credential.kind !== "secret" && isGuessable(credential.value)',
    replacement: "false",
    tests: [sealTest],
  },
  {
    name: "sealed: texts of callers do not begin like sealed ones",
    file: "lib/schedule/shape/target-webhook-shape.ts",
    text: ".refine((value) => !isSealed(value), notSealed)",
    replacement: "",
    tests: [sealTest],
  },
  {
    name: "sealed: an older key stays for ten minutes",
    file: again,
    text: "- interval '10 minutes'",
    replacement: "- interval '0 minutes'",
    tests: [againTest],
  },
  {
    name: "sealed: a version that changed during a pass is left alone",
    file: again,
    text: " and v.target = n.before",
    replacement: "",
    tests: [againTest],
  },
  {
    name: "sealed: a KMS that does not answer is not another vault",
    file: "lib/sealing/kms-vault.ts",
    text: "error instanceof Error && ofAnotherKey.has(error.name)",
    replacement: "error instanceof Error && ofAnotherKey.size > 0",
    tests: ["test/sealing/kms-vault.test.ts"],
  },
  {
    name: "sealed: another deployment's key is replaced",
    file: "lib/sealing/first-key.ts",
    text: "if (newest !== undefined && (await vault.opens(newest.key)))",
    replacement: "if (newest !== undefined)",
    tests: ["test/functions/credential-key.test.ts"],
  },
];
