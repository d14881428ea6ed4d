import { Link, Outlet } from "@tanstack/react-router";
import { Bell } from "../parts/bell.tsx";
import { LiveProvider } from "./live.tsx";
import { MoreMenu } from "./more-menu.tsx";
import { Palette } from "./palette.tsx";
import { ZoneSwitch } from "./zone-switch.tsx";
import "../look/shell.css";

const views = [
  { to: "/", name: "Now" },
  { to: "/schedules", name: "Schedules" },
  { to: "/jobs", name: "Jobs" },
  { to: "/agenda", name: "Agenda" },
  { to: "/load", name: "Load" },
  { to: "/holds", name: "Holds" },
] as const;

export function Shell() {
  return (
    <LiveProvider>
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <header className="bar">
        <Link to="/" className="brand">
          <Bell /> Carillon
        </Link>
        <nav aria-label="Views" className="views">
          <div className="views-scroll">
            {views.map(({ to, name }) => (
              <Link
                key={to}
                to={to}
                activeProps={{ "aria-current": "page" }}
                activeOptions={{ exact: to === "/" }}
              >
                {name}
              </Link>
            ))}
          </div>
          <MoreMenu />
        </nav>
        <Palette />
        <ZoneSwitch />
      </header>
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
    </LiveProvider>
  );
}
