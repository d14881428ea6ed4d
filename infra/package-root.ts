import { fileURLToPath } from "node:url";

/**
 * The repository's root; in the package, its folder `dist`, with the same layout. This file must
 * keep its depth in both.
 */
export const packageRoot: string = fileURLToPath(new URL("..", import.meta.url));
