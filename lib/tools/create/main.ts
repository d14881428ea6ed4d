#!/usr/bin/env node
import "../../config/node-version.ts";

// The program of the package `create-carillon`. It is loaded only by a Node that can run it.
const { create } = await import("./create.ts");
create(process.argv.slice(2));
