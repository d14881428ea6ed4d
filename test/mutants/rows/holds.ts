import type { Mutant } from "../mutant.ts";

const shared = "lib/batch/label-holds.ts";
const ended = "lib/job-control/delete-ended.ts";
const wanted = "lib/edit/wanted-holds.ts";

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
    text: "(each) => each.owner === of && each.prefix.startsWith(prefix),",
    replacement: "(each) => each.owner === of,",
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
