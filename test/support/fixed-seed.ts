import fc from "fast-check";
import { seedOfRun } from "./seed.ts";

// fast-check prints the seed and the path of a failure. A new seed for each run would make a green
// run say nothing about the next one.
fc.configureGlobal({ seed: seedOfRun });
