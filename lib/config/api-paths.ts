/** The first segment of every path of the API. All other paths that are read are the page's. */
export const apiPaths = { versioned: "v1", health: "health" } as const;

export function isApiPath(path: string): boolean {
  const [first] = path.slice(1).split("/", 1);
  return first === apiPaths.versioned || path === `/${apiPaths.health}`;
}
