import { command } from "../command.ts";
import { listOptions } from "../common-options.ts";
import { inParts } from "../in-parts.ts";
import { pageSize, someOf } from "../listed.ts";
import { counted, wholeTime } from "../output/table.ts";

export const quarantineCommand = command({
  name: "quarantine",
  group: "Operation",
  summary: "List rows on which Carillon failed and which it retries",
  usage: "",
  about:
    "With --retry the next tick retries the rows that match the filters, without waiting for their time.",
  words: { min: 0, max: 0 },
  options: {
    consumer: { value: "name", about: "Only rows of this part of Carillon, such as ended" },
    item: { value: "id", about: "The row's id, as the list shows it" },
    key: { value: "key", about: "Only rows of this schedule" },
    prefix: { value: "prefix", about: "Only rows of schedules whose keys begin with this" },
    retry: { about: "Retry them with the next tick" },
    ...listOptions,
  },
  examples: [
    "carillon quarantine",
    "carillon quarantine --key report:weekly",
    "carillon quarantine --consumer ended --retry",
  ],
  run: async (call) => {
    const { given, client, out, signal } = call;
    const filter = {
      consumer: given.text("consumer"),
      item: given.text("item"),
      key: given.text("key"),
      prefix: given.text("prefix"),
    };
    if (given.flag("retry")) {
      const total = { done: 0 };
      await inParts(call, total, (cursor) => client.quarantine.retry(filter, { cursor, signal }));
      if (out.isJson) out.json(total);
      else out.line(`The next tick retries ${counted(total.done, "row")}.`);
      return;
    }
    const list = client.quarantine.list({ ...filter, limit: pageSize(call), signal });
    out.table(
      [
        { title: "CONSUMER", text: ({ consumer }) => consumer, whole: true },
        { title: "ITEM", text: ({ item }) => item, whole: true },
        { title: "KEY", text: ({ key }) => key ?? "" },
        {
          title: `SINCE (${out.times.zone})`,
          text: ({ firstAt }) => out.times.both(firstAt),
          narrowest: wholeTime,
        },
        { title: "TRIES", text: ({ tries }) => String(tries), align: "right", whole: true },
        {
          title: `NEXT (${out.times.zone})`,
          text: ({ nextAt }) => out.times.both(nextAt),
          narrowest: wholeTime,
        },
        { title: "WHY", text: ({ reason }) => reason },
      ],
      await someOf(call, list),
      "No row is set aside.",
    );
  },
});
