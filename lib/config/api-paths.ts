/** The first segment of every path of the API. All other paths are the page's, where there is one. */
export const apiPaths = { versioned: "v1", health: "health" } as const;

export function isApiPath(path: string): boolean {
  const [first] = path.slice(1).split("/", 1);
  return first === apiPaths.versioned || path === `/${apiPaths.health}`;
}
