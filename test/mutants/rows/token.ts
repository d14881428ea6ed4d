import type { Mutant } from "../mutant.ts";

const token = "lib/token/token.ts";
const edits = "lib/token/token-edits.ts";
const principal = "lib/token/principal.ts";

/** Tokens and principals, and their powers. */
export const tokens: readonly Mutant[] = [
  {
    name: "an expired token is not found",
    file: token,
    text: "where t.expires_at is null or t.expires_at > carillon.clock()`;",
    replacement: "`;",
    tests: ["test/token/token.test.ts"],
  },
  {
    name: "a secret from before a rotation ends with the overlap",
    file: token,
    text: "where e.hash = ${hash} and e.ends_at > carillon.clock()) t",
    replacement: "where e.hash = ${hash}) t",
    tests: ["test/api/tokens.test.ts"],
  },
  {
    name: "the first admin token is not created again from a secret that was deleted or rotated away",
    file: token,
    text: "      where not exists (select from carillon.earlier_secrets where hash = ${hash})\n",
    replacement: "",
    tests: ["test/token/token.test.ts"],
  },
  {
    name: "the secret of a deleted token is remembered as spent",
    file: edits,
    text: "insert into carillon.earlier_secrets (hash, ends_at) select hash, ${now}::timestamptz from carillon.tokens where id = ${id}\n      on conflict (hash) do nothing`",
    replacement: "select`",
    tests: ["test/token/token.test.ts"],
  },
  {
    name: "all secrets of a deleted token end at once",
    file: edits,
    text: "update carillon.earlier_secrets set ends_at = least(ends_at, ${now}) where token_id = ${id}\n      )\n      insert",
    replacement: "select\n      )\n      insert",
    tests: ["test/api/tokens.test.ts"],
    equivalent: "Its earlier secrets are looked up through the token's row, which is deleted with them.",
  },
  {
    name: "a rotation does not extend earlier secrets",
    file: edits,
    text: "set ends_at = least(ends_at, ${endsAt}) where token_id = ${id} and ends_at > ${now}",
    replacement: "set ends_at = ${endsAt} where token_id = ${id} and ends_at > ${now}",
    tests: ["test/token/token.test.ts"],
  },
  {
    name: "a token has at most four valid secrets",
    file: edits,
    text: "if (overlapMs > 0 && (good?.secrets ?? 0) + 2 > secretsMax)",
    replacement: "if (overlapMs > 0 && (good?.secrets ?? 0) + 2 > 1_000)",
    tests: ["test/api/tokens.test.ts"],
  },
  {
    name: "a token cannot create a token beyond its own prefix",
    file: edits,
    text: "if (grantor.prefix !== null && prefix?.startsWith(grantor.prefix) !== true)",
    replacement: "if (false)",
    tests: ["test/api/tokens.test.ts"],
  },
  {
    name: "a token cannot create a token that outlives it",
    file: edits,
    text: "if (grantor.expiresAt !== null && (expiresAt === null || expiresAt > grantor.expiresAt))",
    replacement: "if (false)",
    tests: ["test/api/tokens.test.ts"],
  },
  {
    name: "a token cannot create a token with a higher rate",
    file: edits,
    text: "if (grantor.rate !== null && (rate === null || isMore(rate, grantor.rate)))",
    replacement: "if (false)",
    tests: ["test/api/tokens.test.ts"],
  },
  {
    name: "a rotation of another token cannot exceed the caller's rights",
    file: edits,
    text: "if (standing.id !== by.id) refuseBeyond(standing, own);",
    replacement: "",
    tests: ["test/api/tokens.test.ts"],
  },
  {
    name: "the last permanent admin token cannot be deleted",
    file: edits,
    text: "if (lasting.length === 1 && lasting[0] === id)",
    replacement: "if (false)",
    tests: ["test/api/tokens.test.ts"],
  },
  {
    name: "a token that was revoked meanwhile creates none",
    file: edits,
    text: "if (own === null) throw takenBack();\n      const",
    replacement: "if (own === null) return undefined as never;\n      const",
    tests: ["test/token/token.test.ts"],
  },
  {
    name: "a principal has the powers of its own request, not of a concurrent one",
    file: principal,
    text: "return { ...kept, scope, prefix, team: prefix };",
    replacement: "return kept;",
    tests: ["test/token/principal.test.ts"],
  },
  {
    name: "a principal's row is distinguished from every token",
    file: principal,
    text: "hashOf(`principal ${principal.identity}`)",
    replacement: "hashOf(principal.identity)",
    tests: ["test/token/principal.test.ts"],
  },
];
