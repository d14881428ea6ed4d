import { Combobox } from "@base-ui/react/combobox";
import { useLayoutEffect, useRef } from "react";

interface ZoneListProps {
  shown: string;
  /** The reader's zone. */
  own: string;
  ofSchedule: string | undefined;
  onChoose(zone: string): void;
}

/** All zones, of which a typed part of a name leaves few: on glass nothing else finds one among 400. */
export function ZoneList({ shown, own, ofSchedule, onChoose }: ZoneListProps) {
  const field = useRef<HTMLInputElement>(null);
  // The code comes after the dialog, which has given the focus away by then.
  useLayoutEffect(() => field.current?.focus(), []);
  const near = [shown, own, "UTC", ofSchedule].filter((each) => each !== undefined);
  const zones = [...new Set([...near, ...Intl.supportedValuesOf("timeZone")])];
  const noteOf = (zone: string) =>
    [
      zone === own ? "yours" : null,
      zone === ofSchedule ? "of this schedule" : null,
      zone === shown ? "shown now" : null,
    ]
      .filter((note) => note !== null)
      .join(", ");
  return (
    <Combobox.Root
      inline
      open
      autoHighlight
      items={zones}
      value={shown}
      filter={isFound}
      onValueChange={(zone) => {
        if (zone !== null) onChoose(zone);
      }}
    >
      <Combobox.Input ref={field} aria-label="Find a zone" placeholder="A city or a zone, e.g. new york" />
      <Combobox.Empty className="palette-empty">No zone has this in its name.</Combobox.Empty>
      <Combobox.List className="zone-list" aria-label="Zones">
        {(zone: string) => (
          <Combobox.Item key={zone} value={zone}>
            <span>{zone}</span>
            <span className="quiet">{noteOf(zone)}</span>
          </Combobox.Item>
        )}
      </Combobox.List>
    </Combobox.Root>
  );
}

/** `new york` finds `America/New_York`. */
function isFound(zone: string, typed: string): boolean {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replaceAll(/[\s_/-]+/g, " ")
      .trim();
  return plain(zone).includes(plain(typed));
}
