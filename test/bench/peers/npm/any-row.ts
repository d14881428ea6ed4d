import { Client } from "pg";

let open: { url: string; client: Promise<Client> } | undefined;

/** Whether the query has a row. It keeps its connection: asked every few milliseconds, connecting would be most of it. */
export async function isAnyRow(url: string, query: string): Promise<boolean> {
  if (open?.url !== url) {
    const before = open;
    open = { url, client: connected(url) };
    await before?.client.then((client) => client.end()).catch(() => {});
  }
  const { rows } = await (await open.client).query({
    text: `select 1 where exists (${query})`,
    rowMode: "array",
  });
  return rows.length > 0;
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  // The bench drops the database of a run when the run is over.
  client.on("error", () => {});
  await client.connect();
  return client;
}
