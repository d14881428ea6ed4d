import type { Mutant } from "../mutant.ts";

const tests = ["test/poison/versionless.test.ts"];

/** The claim of a job whose schedule has no row of its version. */
export const versionlessRows: readonly Mutant[] = [
  {
    name: "jobs of one schedule without its version share a parcel",
    file: "lib/parcel/sql/set_versionless_aside.sql",
    text: "    if v_id is not null then",
    replacement: "    if false then",
    tests,
  },
  {
    name: "a job without its version keeps the tries of the parcel that it leaves",
    file: "lib/parcel/sql/set_versionless_aside.sql",
    text: "v_tries := least(greatest(coalesce(v_tries, 0), 0), 1000000000) + 1;",
    replacement: "v_tries := 1;",
    tests,
  },
  {
    name: "the parcel of a job without its version has no target",
    file: "lib/parcel/sql/claim_parcel.sql",
    text: "\n          and exists (select from carillon.schedule_versions v where v.schedule_id = s.id and v.version = s.spec_version)",
    replacement: "",
    tests,
  },
  {
    name: "a job that its claim quarantines is logged",
    file: "lib/worker/work-parcel.ts",
    text: '    if ("setAside" in claimed) logSetAside(deps.log, "claim", claimed.setAside);\n',
    replacement: "",
    tests,
  },
];
