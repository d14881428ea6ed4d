#!/usr/bin/env node
import "../../config/node-version.ts";

// The program of the package `carillon-dev`. It is loaded only by a Node that can run it.
await import("./start.ts");
