import { fileURLToPath } from "node:url";

/**
 * The root of the repository, or of the package, which has the same layout. This file must
 * keep its depth in both.
 */
export const packageRoot: string = fileURLToPath(new URL("..", import.meta.url));
