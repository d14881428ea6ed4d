import type { MovedTo } from "../../client/main.ts";
import type { Output } from "./output.ts";
import { printable } from "./style.ts";
import { grouped } from "./table.ts";

/** Notes on stderr which schedules of a prefix a command does not reach, because they have moved away. */
export function noteMoved(
  out: Output,
  prefix: string | undefined,
  movedTo: readonly MovedTo[] | undefined = [],
): void {
  if (out.isJson) return;
  const which = prefix === undefined ? "" : ` of ${JSON.stringify(prefix)}`;
  for (const { to, schedules, more } of movedTo) {
    const isOne = schedules === 1 && !more;
    const number = `${grouped.format(schedules)}${more ? " or more" : ""} schedule${isOne ? "" : "s"}`;
    out.note(printable(`${number}${which} ${isOne ? "is" : "are"} at ${to} (carillon move).`));
  }
}
