import { Problem } from "./problem.ts";
import type { ApiRequest } from "./request.ts";
import type { Route } from "./route.ts";

const replaces: ReadonlySet<string> = new Set(["PUT", "PATCH", "DELETE"]);

/**
 * The routes of a deployment that may refuse blind overwrites (`requireIfMatch`). If it does, the
 * routes that read If-Match and replace, patch, restore or delete require that header; a PUT that
 * creates may send If-None-Match instead. A pause, a resume and an enqueued job overwrite nothing
 * and are exempt.
 */
export function conditionalRoutes(
  routes: readonly Route[],
  { requireIfMatch }: { requireIfMatch: boolean },
): Route[] {
  return routes.map((route) => {
    if (!isLosing(route)) return route;
    const { doc, run } = route;
    return {
      ...route,
      doc: { ...doc, problems: [...(doc.problems ?? []), 428] },
      run: requireIfMatch ? demanding(route) : run,
    };
  });
}

function isLosing({ method, path, doc }: Route): boolean {
  const reads = doc.headers?.includes("if-match") === true;
  return reads && (replaces.has(method) || path.endsWith("/restore"));
}

function demanding({ doc, run }: Route): Route["run"] {
  const mayCreate = doc.headers?.includes("if-none-match") === true;
  return async (request, ...rest) => {
    refuseUnconditional(request, mayCreate);
    return run(request, ...rest);
  };
}

function refuseUnconditional({ header }: ApiRequest, mayCreate: boolean): void {
  if (header("if-match") !== undefined) return;
  if (mayCreate && header("if-none-match") !== undefined) return;
  throw new Problem(
    "precondition-required",
    `Send If-Match with the ETag that you have read${mayCreate ? ", or `If-None-Match: *` for what is new" : ""}; this deployment requires it for edits.`,
  );
}
