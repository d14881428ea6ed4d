import type { Sql } from "../../lib/db/connect.ts";

/** The roles that the migrations make, in the order of docs/database-roles.md. */
export const roles = ["tick", "worker", "handler", "ingest", "api", "archive", "caller"] as const;
export type Role = (typeof roles)[number];

/** The rights of each role by object, in the words of the document's tables. */
export type Rights = Record<string, Record<Role, string>>;

const begin = "<!-- rights: begin -->";
const end = "<!-- rights: end -->";

/** The rights as the document has them, one table for each kind of object. */
export function rightsText(rights: { title: string; of: Rights }[]): string {
  const tables = rights.map(({ title, of }) => {
    const head = [`| ${title} | ${roles.join(" | ")} |`, `|---|${roles.map(() => "---|").join("")}`];
    const lines = Object.entries(of).map(
      ([name, byRole]) => `| \`${name}\` | ${roles.map((role) => byRole[role] || "–").join(" | ")} |`,
    );
    return [...head, ...lines].join("\n");
  });
  return `${begin}\n\n${tables.join("\n\n")}\n\n${end}`;
}

export function withRights(document: string, text: string): string {
  return document.replace(new RegExp(`${begin}[\\s\\S]*${end}`), () => text);
}

/** The rights in all tables of the document. */
export function documentedRights(document: string): Rights {
  const rights: Rights = {};
  const section = document.slice(document.indexOf(begin), document.indexOf(end));
  for (const [, name = "", cells = ""] of section.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)) {
    const words = cells.split(" | ").map((cell) => (cell === "–" ? "" : cell));
    rights[name] = {
      tick: words[0] ?? "",
      worker: words[1] ?? "",
      handler: words[2] ?? "",
      ingest: words[3] ?? "",
      api: words[4] ?? "",
      archive: words[5] ?? "",
      caller: words[6] ?? "",
    };
  }
  return rights;
}

/** The rights in the database, including those that a role has as a member of another. */
export async function grantedRights(sql: Sql): Promise<{ title: string; of: Rights }[]> {
  return [
    { title: "Table or view", of: byName(await onTables(sql)) },
    { title: "Sequence", of: byName(await onSequences(sql)) },
    { title: "Function", of: byName(await onFunctions(sql)) },
  ];
}

interface Granted {
  name: string;
  role: Role;
  words: string;
}

function byName(rows: readonly Granted[]): Rights {
  const rights: Rights = {};
  for (const { name, role, words } of rows) {
    rights[name] ??= { tick: "", worker: "", handler: "", ingest: "", api: "", archive: "", caller: "" };
    rights[name][role] = words;
  }
  return rights;
}

function onTables(sql: Sql): PromiseLike<Granted[]> {
  return sql<Granted[]>`
    select c.relname as name, r.role, coalesce((
      select string_agg(w.word, ', ' order by w.place) from (
        select p.place, case
          when has_table_privilege('carillon_' || r.role, c.oid, p.name) then p.name
          else (
            select format('%s (%s)', p.name, string_agg(a.attname, ', ' order by a.attnum)) from pg_attribute a
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and p.columns
              and has_column_privilege('carillon_' || r.role, c.oid, a.attnum, p.name) having count(*) > 0)
          end as word
        from (values (1, 'select', true), (2, 'insert', true), (3, 'update', true), (4, 'delete', false), (5, 'truncate', false),
          (6, 'references', true), (7, 'trigger', false)) p (place, name, columns)) w
      where w.word is not null), '') as words
    from pg_class c, unnest(${[...roles]}::text[]) r (role)
    where c.relnamespace = 'carillon'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
    order by c.relname, r.role`;
}

function onSequences(sql: Sql): PromiseLike<Granted[]> {
  return sql<Granted[]>`
    select c.relname as name, r.role, concat_ws(', ',
      case when has_sequence_privilege('carillon_' || r.role, c.oid, 'usage') then 'usage' end,
      case when has_sequence_privilege('carillon_' || r.role, c.oid, 'update') then 'update' end) as words
    from pg_class c, unnest(${[...roles]}::text[]) r (role)
    where c.relnamespace = 'carillon'::regnamespace and c.relkind = 'S' order by c.relname, r.role`;
}

function onFunctions(sql: Sql): PromiseLike<Granted[]> {
  return sql<Granted[]>`
    select format('%s(%s)', p.proname, replace(pg_catalog.oidvectortypes(p.proargtypes), 'timestamp with time zone', 'timestamptz')) as name, r.role,
      case when has_function_privilege('carillon_' || r.role, p.oid, 'execute') then 'execute' else '' end as words
    from pg_proc p, unnest(${[...roles]}::text[]) r (role)
    where p.pronamespace = 'carillon'::regnamespace order by p.proname, name, r.role`;
}
