import { afterAll } from "vitest";
import { endServerConnection } from "./server-connection.ts";

// Registered before those of the file itself, it runs after them.
afterAll(endServerConnection);
