import type { Outage } from "../../client/main.ts";
import { type Command, command } from "../command.ts";
import { listOptions } from "../common-options.ts";
import { instantFrom } from "../input.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import type { Column } from "../output/table.ts";
import { measuredText } from "../times.ts";

const outages = command({
  name: "outages",
  group: "Operation",
  summary: "List when no tick ran, no worker claimed or the database was away",
  usage: "",
  words: { min: 0, max: 0 },
  options: {
    from: { value: "instant", about: "Not over at this instant, such as `2d ago`" },
    to: { value: "instant", about: "Begun before this instant" },
    ...listOptions,
  },
  examples: ["carillon outages", `carillon outages --from "2d ago" --json`],
  run: async (call) => {
    const { client, given, out, signal } = call;
    const list = client.outages({
      from: instantFrom(call, given.text("from"), "--from"),
      to: instantFrom(call, given.text("to"), "--to"),
      limit: pageSize(call),
      signal,
    });
    const found = await someOf(call, list);
    out.table(outageColumns(out), found, "No outage is known.");
    const [newest] = found;
    if (newest === undefined || out.isJson) return;
    out.line();
    out.line("The jobs that the newest one delayed:");
    out.line(`  ${newest.command}`);
  },
});

const whatText: Readonly<Record<Outage["what"], string>> = {
  tick: "no tick",
  database: "no database",
  "fast-workers": "no worker of the fast queue",
  "slow-workers": "no worker of the slow queue",
};

function outageColumns({ times, paint }: Output): Column<Outage>[] {
  return [
    { title: "WHAT", text: ({ what }) => whatText[what], whole: true },
    { title: `FROM (${times.zone})`, text: ({ from }) => times.both(from), narrowest: 19 },
    {
      title: "TO",
      text: ({ to }) => (to === null ? paint("still", "red") : times.wall(to)),
      whole: true,
    },
    {
      title: "LASTED",
      text: ({ from, to }) => (to === null ? "" : measuredText(Date.parse(to) - Date.parse(from))),
      align: "right",
      whole: true,
    },
  ];
}

export const outageCommands: readonly Command[] = [outages];
