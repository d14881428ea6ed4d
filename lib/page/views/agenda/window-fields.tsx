import type { AgendaWindow } from "../../../client/agenda.ts";
import { instantOfWall, wallInput } from "../../data/wall-input.ts";
import { useZone } from "../../hooks/use-zone.ts";
import type { AgendaSearch } from "./agenda-search.ts";

interface WindowFieldsProps {
  window: AgendaWindow;
  onChange(changed: Pick<AgendaSearch, "from" | "to">): void;
}

/** Both ends of the window, on the clocks of the screen's zone. */
export function WindowFields({ window, onChange }: WindowFieldsProps) {
  const zone = useZone();
  const from = new Date(window.from).getTime();
  const to = new Date(window.to).getTime();
  const change = (end: "from" | "to", text: string) => {
    const at = instantOfWall(text, zone);
    if (at === null) return;
    const instant = new Date(at).toISOString();
    // The window keeps its length where its begin moves.
    if (end === "from") onChange({ from: instant, to: new Date(at + (to - from)).toISOString() });
    else if (at > from) onChange({ from: new Date(from).toISOString(), to: instant });
  };
  return (
    <>
      <label>
        <span>From ({zone})</span>
        <input
          type="datetime-local"
          value={wallInput(from, zone)}
          onChange={(event) => change("from", event.target.value)}
        />
      </label>
      <label>
        <span>To</span>
        <input
          type="datetime-local"
          value={wallInput(to, zone)}
          onChange={(event) => change("to", event.target.value)}
        />
      </label>
    </>
  );
}
