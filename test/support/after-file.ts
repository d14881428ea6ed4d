import { afterAll } from "vitest";
import { endServerConnection } from "./server-connection.ts";

// Registered before the hooks of the test file itself, so it runs after them.
afterAll(endServerConnection);
