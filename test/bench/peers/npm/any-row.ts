import { Client } from "pg";

let open: { url: string; client: Promise<Client> } | undefined;

/**
 * Whether the query returns a row. The connection is kept: the query runs every few milliseconds,
 * and connecting would be most of its cost.
 */
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
  // The bench drops the database of a run after it.
  client.on("error", () => {});
  await client.connect();
  return client;
}
