import fc from "fast-check";
import { seedOfRun } from "./seed.ts";

// fast-check prints the seed and the path of a failure. With a seed of its own for each run, a green gate would say nothing of the next one.
fc.configureGlobal({ seed: seedOfRun });
