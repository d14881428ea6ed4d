import { useNavigate, useSearch } from "@tanstack/react-router";
import { readerZone } from "../data/zone.ts";

/** The zone of all times on the screen: the reader's, UTC, or the one that the address names. */
export function ZoneSwitch() {
  const { zone } = useSearch({ from: "__root__" });
  const navigate = useNavigate();
  const own = readerZone();
  const others = ["UTC", ...(zone === undefined || zone === "UTC" ? [] : [zone])].filter(
    (each) => each !== own,
  );
  const choose = (chosen: string) =>
    void navigate({
      to: ".",
      search: (search: Record<string, unknown>) => ({ ...search, zone: chosen === own ? undefined : chosen }),
      replace: true,
    });
  return (
    <label className="zone">
      <span className="hidden">Zone of all times</span>
      <select value={zone ?? own} onChange={(event) => choose(event.target.value)}>
        <option value={own}>{own}</option>
        {others.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}
