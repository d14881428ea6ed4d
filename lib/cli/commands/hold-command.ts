import type { BoardHold } from "../../client/main.ts";
import { type Command, command } from "../command.ts";
import { listOptions } from "../common-options.ts";
import { instantFrom } from "../input.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import type { Column } from "../output/table.ts";
import { oneOf } from "../schedule-filter.ts";
import { durationText } from "../times.ts";

const holds = command({
  name: "holds",
  group: "Operation",
  summary: "List what is paused: owner, reason, members and time left",
  usage: "",
  about:
    "Those that end first come first. The hold of a group or tag is one line: its members are the schedules that it covers, counted up to 1,000; of a larger hold those that it was put on. RELEASE says whether your token may release it: only a token that reaches as many keys as SET FOR names may.",
  words: { min: 0, max: 0 },
  options: {
    scope: { value: "scope", about: "schedule, group or tag" },
    owner: { value: "owner", about: "Only holds of this owner" },
    prefix: { value: "prefix", about: "Only holds of schedules whose keys begin with this" },
    "ends-before": { value: "instant", about: "Only holds that end before this, such as `in 1h`" },
    ended: { about: "The holds that ended in the last days, newest first" },
    ...listOptions,
  },
  examples: [
    "carillon holds",
    "carillon holds --prefix crm: --ends-before 'in 1h'",
    "carillon holds --ended",
  ],
  run: async (call) => {
    const { given, client, out, signal } = call;
    const list = client.holds({
      scope: oneOf(given.text("scope"), ["schedule", "group", "tag"] as const, "--scope"),
      owner: given.text("owner"),
      prefix: given.text("prefix"),
      endsBefore: instantFrom(call, given.text("ends-before"), "--ends-before"),
      ended: given.flag("ended") ? true : undefined,
      limit: pageSize(call),
      signal,
    });
    showHolds(out, await someOf(call, list), given.flag("ended"));
  },
});

function showHolds(out: Output, items: readonly BoardHold[], ended: boolean): void {
  const last: Column<BoardHold>[] = ended
    ? [
        {
          title: `ENDED (${out.times.zone})`,
          text: ({ endedAt }) => out.times.wall(endedAt),
          whole: true,
        },
        { title: "BY", text: ({ endedBy }) => endedBy ?? "-" },
      ]
    : [
        {
          title: `UNTIL (${out.times.zone})`,
          text: ({ until }) => (until === null ? "no end" : out.times.wall(until)),
          whole: true,
        },
        { title: "LEFT", text: leftText, align: "right", whole: true },
        { title: "SET FOR", text: reachText },
        { title: "RELEASE", text: ({ releasable }) => (releasable ? "yes" : "no"), whole: true },
      ];
  out.table(
    [
      { title: "WHAT", text: nameOf },
      { title: "OWNER", text: ({ owner }) => owner ?? "-" },
      {
        title: "SINCE",
        text: ({ since }) => (since === null ? "-" : out.times.relative(since)),
        whole: true,
      },
      ...last,
      members,
      { title: "REASON", text: ({ reason }) => reason ?? "" },
    ],
    items,
    ended ? "No hold has ended lately." : "Nothing is held.",
  );
}

/** In a column of its own, so that the end can be copied into another command. */
function leftText({ secondsLeft }: BoardHold): string {
  if (secondsLeft === null) return "";
  return secondsLeft === 0 ? "over" : durationText(secondsLeft * 1_000);
}

/** The keys that its maker reached: a token of fewer keys may not release it. */
function reachText({ reach }: BoardHold): string {
  if (reach === null) return "-";
  return reach === "" ? "all keys" : `keys ${reach}…`;
}

function nameOf({ scope, name, prefix }: BoardHold): string {
  const label = scope === "schedule" ? name : `${scope} ${name}`;
  return prefix === null ? label : `${label} (keys ${prefix}…)`;
}

const members: Column<BoardHold> = {
  title: "MEMBERS",
  text: ({ members: count, state }) =>
    `${count === null ? "-" : String(count)}${state === "ending" ? ", ending" : ""}`,
  whole: true,
};

export const holdCommands: readonly Command[] = [holds];
