import { readerZone } from "../data/time/zone.ts";
import { useChooseZone } from "../hooks/use-choose-zone.ts";
import { useZone } from "../hooks/use-zone.ts";

/** Says in every view that its times are not in the reader's zone, which a link may have brought. One press ends it. */
export function ZoneNote() {
  const zone = useZone();
  const own = readerZone();
  const choose = useChooseZone();
  if (zone === own) return null;
  return (
    <p className="zone-note" role="status">
      <span>
        Times in <b>{zone}</b>, not your zone
      </span>
      <button type="button" className="text-button" onClick={() => choose(own)}>
        Back to {own}
      </button>
    </p>
  );
}
