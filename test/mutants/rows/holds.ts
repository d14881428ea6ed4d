import type { Mutant } from "../mutant.ts";

const shared = "lib/batch/label-holds.ts";
const ended = "lib/job-control/delete-ended.ts";
const wanted = "lib/edit/wanted-holds.ts";
const own = "lib/edit/schedule-holds.ts";
const edits = "lib/edit/schedule-edits.ts";

/** Holds of labels, holds that Carillon requests itself, and ended schedules that are deleted. */
export const holdRows: readonly Mutant[] = [
  {
    name: "a shared hold: the label is locked for a pause",
    file: shared,
    text: "await lockLabelAlone(tx, label);\n  const now",
    replacement: "const now",
    tests: ["test/batch/label-holds.test.ts"],
  },
  {
    name: "a shared hold: a hold for a narrower prefix beside one for a wider prefix is refused",
    file: shared,
    text: "refuseNarrower(nested, hold, now);",
    replacement: "void refuseNarrower;",
    tests: ["test/api/reach.test.ts"],
  },
  {
    name: "a shared hold: a resume is limited to the caller's prefix",
    file: shared,
    text: "owned.filter((each) => each.prefix.startsWith(prefix));",
    replacement: "owned;",
    tests: ["test/api/reach.test.ts"],
  },
  {
    name: "a shared hold: an old cursor is refused",
    file: shared,
    text: "if (revision !== undefined && revision !== existing.revision) throw overtaken();",
    replacement: "void revision;",
    tests: ["test/batch/shared-hold-cursor.test.ts"],
  },
  {
    name: "a shared hold: only the holds of the same team count for the limit",
    file: shared,
    text: "standing.filter(({ team }) => team === hold.team);",
    replacement: "[...standing];",
    tests: ["test/api/hold-limits.test.ts"],
  },
  {
    name: "a hold: only the holds of the same team count for the limit of a schedule",
    file: own,
    text: 'each.scope === "schedule" && each.team === team',
    replacement: 'each.scope === "schedule" && team !== undefined',
    tests: ["test/api/hold-limits.test.ts"],
  },
  {
    name: "a hold: a caller that reaches fewer keys does not change it",
    file: own,
    text: "else refuseWider(params.caller, [existing]);",
    replacement: "",
    tests: ["test/api/hold-reach.test.ts"],
  },
  {
    name: "a hold: a caller that reaches fewer keys does not release it",
    file: own,
    text: "refuseWider(params.caller, remove);",
    replacement: "",
    tests: ["test/api/hold-reach.test.ts"],
  },
  {
    name: "a hold: a schedule does not leave a label whose hold reaches further than the caller",
    file: edits,
    text: "refuseWider(author, ofLabels.remove);",
    replacement: "",
    tests: ["test/api/hold-reach.test.ts"],
  },
  {
    name: "a hold: a body with paused: false does not release a hold that reaches further",
    file: edits,
    text: "refuseWider(author, [standing]);",
    replacement: "",
    tests: ["test/api/hold-reach.test.ts"],
  },
  {
    name: "a hold: a caller that reaches more keys makes it its own",
    file: own,
    text: "isAsAsked(existing, hold) && !widens(hold, existing)",
    replacement: "isAsAsked(existing, hold)",
    tests: ["test/api/hold-reach.test.ts"],
  },
  {
    name: "a hold: a body with paused: true takes over a hold of the same name",
    file: edits,
    text: "else if (!widens(hold, standing)) return null;",
    replacement: "else return null;",
    tests: ["test/api/hold-reach.test.ts"],
  },
  {
    name: "a token: one that a team makes belongs to the team",
    file: "lib/token/token-edits.ts",
    text: "${prefix}, ${own.team}, ${expiresAt}",
    replacement: "${prefix}, ${null}, ${expiresAt}",
    tests: ["test/api/hold-limits.test.ts"],
  },
  {
    name: "ended schedules: a schedule that an edit has kept since it was listed is not deleted",
    file: ended,
    text: "locked.filter(({ body }) => body.deleteOnEnd);",
    replacement: "locked;",
    tests: ["test/job-control/delete-ended.test.ts"],
  },
  {
    name: "ended schedules: a delete takes the gate",
    file: ended,
    text: "lockForChange(tx, { shards: [shard], briefly, noteLocked, waitingForRows: ids.length }),",
    replacement:
      "lockForChange(tx, { shards: [shard], gates: [], briefly, noteLocked, waitingForRows: ids.length }),",
    tests: ["test/job-control/delete-ended.test.ts"],
  },
  {
    name: "ended schedules: a schedule with an open job before its last is not deleted",
    file: ended,
    text: "const gone = settled.filter(({ id }) => !open.has(id));",
    replacement: "const gone = settled;\n  void open;",
    tests: ["test/job-control/delete-ended.test.ts"],
  },
  {
    name: "ended schedules: open jobs in lanes of another shard count",
    file: ended,
    text: "where (p.shard = ${shard} or p.laned) and",
    replacement: "where p.shard = ${shard} and",
    tests: ["test/job-control/delete-ended-late.test.ts"],
  },
  {
    name: "ended schedules: a schedule whose last job is dead stays",
    file: ended,
    text: 'return newest?.state === "dead" ? "dead" : "settled";',
    replacement: 'void newest;\n  return "settled";',
    tests: ["test/job-control/delete-ended.test.ts"],
  },
  {
    name: "ended schedules: a pulse whose last second may be retried stays",
    file: ended,
    text: '?.state === "ended" && !counted(() => mayStillBeat(schedule, state.now)),',
    replacement: '?.state === "ended" && (mayStillBeat(schedule, state.now) || true),',
    tests: ["test/job-control/delete-ended-late.test.ts"],
  },
  {
    name: "a wanted hold: a hold that was wanted before an edit is not set",
    file: wanted,
    text: "if (current.id !== wanted.scheduleId || (await isAboutElse(tx, wanted))) return null;",
    replacement: "void isAboutElse;\n  if (current.id !== wanted.scheduleId) return null;",
    tests: ["test/lifecycle/wanted-holds.test.ts"],
  },
  {
    name: "a wanted hold: another schedule under the same key is not held",
    file: wanted,
    text: "if (current.id !== wanted.scheduleId || (await",
    replacement: "if ((await",
    tests: ["test/lifecycle/wanted-holds.test.ts"],
  },
  {
    name: "a wanted hold: an existing hold stays as it is",
    file: wanted,
    text: "if (holds.some((each) => isSameHold(each, carillonsOwn))) return null;",
    replacement: "void isSameHold;",
    tests: ["test/lifecycle/wanted-holds-twice.test.ts"],
  },
];
