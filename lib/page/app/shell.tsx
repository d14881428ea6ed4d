import { Link, Outlet } from "@tanstack/react-router";
import { LiveProvider } from "../hooks/live.tsx";
import { Bell } from "../parts/bell.tsx";
import { StaleNotice } from "../parts/stale-notice.tsx";
import { InstallationName } from "./installation.tsx";
import { Keys } from "./keys.tsx";
import { useBarViews } from "./main-views.ts";
import { MoreMenu } from "./more-menu.tsx";
import { Palette } from "./palette.tsx";
import { contentId, SkipLink } from "./skip-link.tsx";
import { TokenNote } from "./token-note.tsx";
import { ViewChange } from "./view-change.tsx";
import { ZoneNote } from "./zone-note.tsx";
import { ZoneSwitch } from "./zone-switch.tsx";
import "../look/parts.css";
import "../look/shell.css";

export function Shell() {
  const { inBar } = useBarViews();
  return (
    <LiveProvider>
      <ViewChange />
      <SkipLink />
      <header className="bar">
        <Link to="/" className="brand">
          <Bell /> <span className="brand-word">Carillon</span> <InstallationName />
        </Link>
        <nav aria-label="Views" className="views">
          <div className="views-row">
            {inBar.map(({ to, name }) => (
              <Link
                key={to}
                to={to}
                activeProps={{ "aria-current": "page" }}
                activeOptions={{ exact: to === "/", includeSearch: false }}
              >
                {name}
              </Link>
            ))}
          </div>
          <MoreMenu />
          <TokenNote />
        </nav>
        <Palette />
        <ZoneSwitch />
        <Keys />
      </header>
      <ZoneNote />
      <main id={contentId} tabIndex={-1}>
        <Outlet />
      </main>
      <StaleNotice />
    </LiveProvider>
  );
}
