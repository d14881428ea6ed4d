import { fileURLToPath } from "node:url";

/** The repository; in the package, its folder `dist`, in which things have the same places. This file keeps its depth in both. */
export const packageRoot: string = fileURLToPath(new URL("..", import.meta.url));
