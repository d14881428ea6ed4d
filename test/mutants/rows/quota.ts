import type { Mutant } from "../mutant.ts";

const schedules = ["test/quota/schedule-quotas.test.ts"];
const written = ["test/quota/written-quota.test.ts"];
const check = "lib/quota/quota-check.ts";

/** No prefix gets more than its quotas allow, and none waits for another's. */
export const quotaRows: readonly Mutant[] = [
  {
    name: "quota: an edit beyond the quota is refused",
    file: check,
    text: "if (after > allowed)",
    replacement: "if (after > Number.MAX_VALUE)",
    tests: schedules,
  },
  {
    name: "quota: edits near a limit go one after another",
    file: check,
    text: "if (isTight && !locked.has(team.prefix)) near.push(team.prefix);",
    replacement: "if (isTight && locked.has(team.prefix)) near.push(team.prefix);",
    tests: ["test/quota/quota-race.test.ts"],
  },
  {
    name: "quota: a schedule counts by its densest minute",
    file: "lib/cadence/fires-per-year.ts",
    text: "return most > 1 ?",
    replacement: "return most > Number.MAX_VALUE ?",
    tests: schedules,
  },
  {
    name: "quota: a recount knows what a slot gathers",
    file: "lib/schedule/stored/version-rows.ts",
    text: "spec.body.slot === null ? undefined : perYearOf(spec)",
    replacement: "spec.body.slot === null ? undefined : 0",
    tests: schedules,
  },
  {
    name: "quota: operations of a batch use the room that earlier ones leave",
    file: check,
    text: "const before = of(used) + of(taken);",
    replacement: "const before = of(used);",
    tests: schedules,
  },
  {
    name: "quota: an edit that adds nothing is never refused",
    file: check,
    text: "of(change) > 0 && most(limits) !== null",
    replacement: "most(limits) !== null",
    tests: ["test/quota/other-edits.test.ts"],
  },
  {
    name: "quota: a version takes its payload from the day",
    file: "lib/quota/usage.ts",
    text: "const writtenBytes = bytes + ",
    replacement: "const writtenBytes = ",
    tests: written,
  },
  {
    name: "quota: a version takes its target from the day",
    file: "lib/quota/usage.ts",
    text: "const writtenBytes = bytes + Buffer.byteLength(JSON.stringify(target));",
    replacement: "const writtenBytes = bytes + (target === null ? 1 : 0);",
    tests: written,
  },
  {
    name: "quota: the payload of a single fire is taken from the day",
    file: "lib/job-control/fire-now.ts",
    text: "await quota.take(key, change, prefix);",
    replacement: "",
    tests: written,
  },
  {
    name: "quota: the first payload of a day finds nothing used",
    file: "lib/quota/read-usage.ts",
    text: "filter (where u.written_on >= d.today)",
    replacement: "",
    tests: written,
  },
  {
    name: "quota: a schedule counts for each prefix above it",
    file: check,
    text: "for (const team of chain) {",
    replacement: "for (const team of chain.slice(0, 1)) {",
    tests: schedules,
  },
  {
    name: "quota: a new schedule joins no group of another team",
    file: "lib/edit/make-schedules.ts",
    text: "await known.quota.admitGroup(body.group, team);",
    replacement: "",
    tests: ["test/quota/foreign-groups.test.ts"],
  },
  {
    name: "quota: an edit brings no schedule into the group of another team",
    file: "lib/edit/schedule-edits.ts",
    text: "await known.quota.admitGroup(wanted.group, team, current.body.group);",
    replacement: "",
    tests: ["test/quota/foreign-groups.test.ts"],
  },
  {
    name: "quota: a longer and a shorter prefix use a group of the team",
    file: "lib/quota/foreign-group.ts",
    text: "!prefix.startsWith(callersPrefix) && !callersPrefix.startsWith(prefix)",
    replacement: "prefix !== callersPrefix",
    tests: ["test/quota/foreign-groups.test.ts"],
  },
  {
    name: "quota: the first edit of a prefix makes its team",
    file: check,
    text: "current = await keepTeam(tx, callersPrefix);",
    replacement: "",
    tests: ["test/ingest/ingest-quota.test.ts"],
  },
  {
    name: "quota: the first token of a prefix makes its team",
    file: "lib/token/token-edits.ts",
    text: 'if (scope !== "read") await makeTeam(tx, team);',
    replacement: "",
    tests: ["test/quota/foreign-groups.test.ts"],
  },
  {
    name: "quota: a token that only reads makes no team",
    file: "lib/token/token-edits.ts",
    text: 'if (scope !== "read") await makeTeam(tx, team);',
    replacement: "await makeTeam(tx, team);",
    tests: ["test/quota/foreign-groups.test.ts"],
  },
  {
    name: "quota: the first request of a principal makes its team",
    file: "lib/token/principal.ts",
    text: "await makeTeam(sql, prefix);",
    replacement: "return;",
    tests: ["test/token/principal.test.ts"],
  },
];
