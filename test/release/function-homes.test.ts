import { spawnSync } from "node:child_process";
import { glob, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { changedFunctions, homelessFunctions } from "../../lib/tools/migration/copied-functions.ts";
import { type FunctionHome, functionHomes, repository } from "../../lib/tools/migration/function-homes.ts";
import { writeMigration } from "../../lib/tools/migration/write-migration.ts";
import { testDatabase } from "../support/database.ts";

const readHomes = () => functionHomes();
const namesOf = (homes: readonly FunctionHome[]) => homes.map(({ name }) => name);

describe("a function of the database", () => {
  test("a function of the database is the same in its file as in the last migration that defines it", async () => {
    const [homes, migrations] = await Promise.all([readHomes(), readMigrations(migrationsDirectory)]);
    expect(namesOf(changedFunctions(homes, migrations)), "run `npm run migration -- <name>`").toEqual([]);
    expect(homelessFunctions(homes, migrations), "functions without a file in lib/").toEqual([]);
  });

  test("every function of the database has a file of its name and no overloads, and every file has its function", async () => {
    const database = await testDatabase();
    const sql = connect({ DATABASE_URL: database.url }, { max: 1 });
    try {
      const rows = await sql<{ name: string }[]>`
        select proname as name from pg_proc where pronamespace = 'carillon'::regnamespace order by proname collate "C"`;
      expect(rows.map(({ name }) => name)).toEqual(namesOf(await readHomes()));
    } finally {
      await sql.end();
      await database.drop();
    }
  });

  // The clock is an exception: nearly every statement about time calls it, so its file names no
  // callers.
  test("the file of a function of the database names each function and each file of lib/ that calls it", async () => {
    const homes = (await readHomes()).filter(({ name }) => name !== "clock");
    const callers = [
      ...homes.map(({ name, file, text }) => ({ word: name, file, text })),
      ...(await sources()),
    ];
    const missing = homes.flatMap((home) => {
      const called = /\n-- Called by: (?:.*\n)(?:--.*\n)*/.exec(home.text)?.[0] ?? "";
      const call = new RegExp(`\\bcarillon\\.${home.name}\\s*\\(`);
      return callers
        .filter(({ file, text }) => file !== home.file && call.test(withoutComments(text)))
        .filter(({ word }) => !new RegExp(`(?<![\\w/])${word.replaceAll(".", "\\.")}\\b`).test(called))
        .map(({ file }) => `${home.file} does not name ${file}`);
    });
    expect(missing).toEqual([]);
  });
});

interface Caller {
  /** The name under which the contract of a called function lists this caller. */
  word: string;
  file: string;
  text: string;
}

async function sources(): Promise<Caller[]> {
  const files = await Array.fromAsync(glob("lib/**/*.ts", { cwd: repository }));
  return Promise.all(
    files.map(async (file) => ({
      word: file,
      file,
      text: await readFile(path.join(repository, file), "utf8"),
    })),
  );
}

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|--.*/g, "");

describe("npm run migration", () => {
  let root: string;
  const home = (
    name: string,
    body = "select 1",
    contract = "-- Gives a number.\n-- Locks: none.\n-- Returns: 1.\n-- Called by: nothing.\n",
  ) =>
    `${contract}create or replace function carillon.${name}() returns int language sql as $$ ${body} $$;\n`;
  const writeHome = (name: string, text = home(name), noun = "parcel") =>
    writeFile(path.join(root, "lib", noun, "sql", `${name}.sql`), text);
  const written = (file: string) => readFile(path.join(root, "migrations", file), "utf8");
  const write = (name: string) => writeMigration(name, { root, released: 1 });

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), "carillon-homes-"));
    await mkdir(path.join(root, "migrations"));
    await mkdir(path.join(root, "lib", "parcel", "sql"), { recursive: true });
    await mkdir(path.join(root, "lib", "lane", "sql"), { recursive: true });
    await writeHome("one");
    await writeHome("two");
    await writeFile(path.join(root, "migrations", "0001-all.sql"), `${home("one")}\n${home("two")}`);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  test("npm run migration copies the functions that changed, and revokes new ones from public", async () => {
    await writeHome("two", home("two", "select 2"));
    await writeHome("three");
    expect(await write("more")).toBe("migrations/0002-more.sql: carillon.three, carillon.two");
    const text = await written("0002-more.sql");
    expect(text).toContain("-- carillon: back to 1\n");
    expect(text).toContain(home("two", "select 2"));
    expect(text).not.toContain("carillon.one");
    expect(text).toMatch(/\nrevoke execute on function carillon\.three from public;\n$/);
  });

  test("npm run migration replaces the copies of an unreleased migration, and keeps what is written above them", async () => {
    await writeHome("two", home("two", "select 2"));
    await write("more");
    const file = path.join(root, "migrations", "0002-more.sql");
    await writeFile(file, (await readFile(file, "utf8")).replace("Say here", "By hand"));
    await writeHome("two", home("two", "select 3"));
    await write("more");
    const text = await written("0002-more.sql");
    expect(text).toContain("By hand");
    expect(text).toContain("select 3");
    expect(text).not.toContain("select 2");
    expect(await readdir(path.join(root, "migrations"))).toEqual(["0001-all.sql", "0002-more.sql"]);
  });

  test("npm run migration writes a migration without functions where none has changed", async () => {
    expect(await write("tables")).toBe("migrations/0002-tables.sql: no function has changed");
    expect(await written("0002-tables.sql")).not.toContain("create");
  });

  test("npm run migration reports functions whose file is gone", async () => {
    await rm(path.join(root, "lib", "parcel", "sql", "one.sql"));
    expect(await write("fewer")).toMatch(/No file in lib\/ has carillon\.one: drop it/);
  });

  test("npm run migration never changes a released migration, nor one that is followed by others", async () => {
    await expect(write("all")).rejects.toThrow("has been released");
    await write("second");
    await write("third");
    await expect(write("second")).rejects.toThrow("is not the last one");
  });

  test.each(["Upper", "two words", "-dash", "a--b", "../out", ""])(
    "npm run migration refuses the name %j",
    async (name) => {
      await expect(write(name)).rejects.toThrow("cannot name a migration");
      expect(await readdir(path.join(root, "migrations"))).toEqual(["0001-all.sql"]);
    },
  );

  test.each([
    ["without its contract", "three", home("three", "select 1", "-- Gives a number.\n"), '"-- Locks: …"'],
    ["of another name", "three", home("four"), "it holds four"],
    ["with two functions", "three", `${home("three")}${home("four")}`, "it holds three, four"],
  ])("npm run migration refuses a file %s", async (_, name, text, why) => {
    await writeHome(name, text);
    await expect(write("more")).rejects.toThrow(why);
  });

  test("npm run migration refuses a function that two files hold", async () => {
    await writeHome("one", home("one"), "lane");
    await expect(write("more")).rejects.toThrow("carillon.one is in two files");
  });

  test("npm run migration prints a refusal as one sentence without a stack, and exits with 1", () => {
    const script = path.join(repository, "lib", "tools", "migration", "write-migration.ts");
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, "Two words"], {
      encoding: "utf8",
    });
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: "",
      stderr: '"Two words" cannot name a migration: use lower-case letters, digits and single dashes.\n',
    });
  });
});
