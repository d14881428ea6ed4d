import { createRootRoute, retainSearchParams } from "@tanstack/react-router";
import { NotFound } from "./not-found.tsx";
import { Shell } from "./shell.tsx";
import { ViewFault } from "./view-fault.tsx";

/** The search parameters that every view's address may have. */
interface EverySearch {
  /** The zone of all times: a name, or absent for the reader's. */
  zone?: string | undefined;
}

/** The shell around every view. */
export const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  errorComponent: ViewFault,
  validateSearch: (search: Record<string, unknown>): EverySearch => {
    const zone = search["zone"];
    return typeof zone === "string" && zone !== "" ? { zone } : {};
  },
  // A link says where to go; the zone is chosen by its switch alone.
  search: { middlewares: [retainSearchParams(["zone"])] },
});
