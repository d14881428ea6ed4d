import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";

/** A process that owns a server until it is killed: prints the server's address and waits. */
const [, , dataDir = ""] = process.argv;
const server = await startPostgres({ dataDir, settings: { shared_buffers: "16MB" } });
process.stdout.write(`${server.url}\n`);
await server.exited;
