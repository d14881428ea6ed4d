import { Link, useRouterState } from "@tanstack/react-router";
import { type KeyboardEvent, useId, useRef } from "react";
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
  const move = (event: KeyboardEvent<HTMLElement>) => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>("a") ?? [])];
    const place = links.indexOf(event.currentTarget);
    const next = nextPlace(event.key, place, links.length);
    if (next === null) return;
    // The page behind the menu would scroll.
    event.preventDefault();
    if (list.current?.matches(":popover-open") === false) list.current.showPopover();
    links[next]?.focus();
  };
  if (views.length === 0) return null;
  return (
    <>
      <button
        type="button"
        className="more-views"
        popoverTarget={id}
        aria-current={isCurrent}
        onKeyDown={move}
      >
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
            onKeyDown={move}
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

/** The link to go to from another one, or from the button (-1); null for a key that moves nothing. */
function nextPlace(key: string, place: number, links: number): number | null {
  switch (key) {
    case "ArrowDown":
      return (place + 1) % links;
    case "ArrowUp":
      return place <= 0 ? links - 1 : place - 1;
    case "Home":
      return place < 0 ? null : 0;
    case "End":
      return place < 0 ? null : links - 1;
    default:
      return null;
  }
}
