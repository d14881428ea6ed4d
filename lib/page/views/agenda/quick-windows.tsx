import { Link } from "@tanstack/react-router";
import { windowsAhead } from "../../data/time/windows-ahead.ts";
import { useNow } from "../../hooks/use-now.ts";
import { useZone } from "../../hooks/use-zone.ts";

/** Windows without typing, on the clocks of the screen's zone. */
export function QuickWindows() {
  const zone = useZone();
  const now = useNow();
  return (
    <nav className="quick-windows" aria-label="Windows ahead">
      {windowsAhead(now, zone).map(({ name, from, to }) => (
        <Link
          key={name}
          to="/agenda"
          search={(before) => ({ ...before, from, to })}
          replace
          activeOptions={{ exact: true }}
          className="link"
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}
