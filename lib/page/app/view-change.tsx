import { useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { installationName } from "./installation.tsx";
import { focusContent } from "./skip-link.tsx";

/**
 * Names the document after its view. On another view the focus goes to its content, since the link
 * that had it is gone.
 */
export function ViewChange() {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const before = useRef(path);
  useEffect(() => {
    document.title = [nameOf(path), installationName(), "Carillon"]
      .filter((part) => part !== null)
      .join(" · ");
    if (before.current !== path) focusContent();
    before.current = path;
  }, [path]);
  return null;
}

/** The last part of the path: a view, a key or a job's id. */
function nameOf(path: string): string {
  const last = path.split("/").at(-1) ?? "";
  if (last === "") return "Now";
  const name = decoded(last);
  return path.lastIndexOf("/") > 0 ? name : `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
