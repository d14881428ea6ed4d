import { readerZone } from "../../data/time/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { type Draft, setValue } from "./draft/draft.ts";
import { Proposals } from "./proposals.tsx";

/** Says that a new schedule has taken the zone of the screen, which may be a colleague's. */
export function ScreenZone({ draft }: { draft: Draft }) {
  const zone = useZone();
  const own = readerZone();
  if (zone === own || draft.value["timezone"] !== zone) return null;
  return (
    <div className="screen-zone">
      <p className="hint">This is the zone that you are looking at. Your own is {own}.</p>
      <Proposals texts={[own]} onUse={(chosen) => setValue(draft, ["timezone"], chosen)} />
    </div>
  );
}
