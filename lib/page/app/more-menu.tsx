import { Link, useRouterState } from "@tanstack/react-router";
import { useId, useRef } from "react";
import { useBarViews } from "./main-views.ts";
import { useMoreViews } from "./more-views.tsx";
import "../look/menu.css";

/** The views that the bar has no room for. */
export function MoreMenu() {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const { inMenu } = useBarViews();
  const views = [...inMenu, ...useMoreViews()];
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const isCurrent = views.some(({ to }) => path === to || path.startsWith(`${to}/`));
  if (views.length === 0) return null;
  return (
    <>
      <button type="button" className="more-views" popoverTarget={id} aria-current={isCurrent}>
        More
        <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
          <path d="m2 3.5 3 3 3-3" />
        </svg>
      </button>
      <div ref={list} id={id} popover="auto" className="more-list">
        {views.map(({ to, name }) => (
          <Link
            key={to}
            to={to}
            onClick={() => list.current?.hidePopover()}
            activeProps={{ "aria-current": "page" }}
            activeOptions={{ includeSearch: false }}
          >
            {name}
          </Link>
        ))}
      </div>
    </>
  );
}
