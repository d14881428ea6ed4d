import { readFileSync, writeFileSync } from "node:fs";
import { checked, reasonsTable } from "./nag-findings.ts";
import { resourcePoliciesTable, rightsTable, withTable } from "./rights.ts";
import { synthesised } from "./synthesised.ts";

// `npm run rights`: writes the tables of rights and of rules of AWS Solutions that are not followed
// into docs/security.md.

const file = new URL("../../docs/security.md", import.meta.url);
const stack = synthesised();
let page = readFileSync(file, "utf8");
page = withTable(page, "rights", rightsTable(stack));
page = withTable(page, "resource policies", resourcePoliciesTable(stack));
page = withTable(page, "reasons", reasonsTable(checked().reasons));
writeFileSync(file, page);
