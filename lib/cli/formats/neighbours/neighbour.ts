import { refuseInexactNumbers } from "../../../command/exact-numbers.ts";
import { documentsIn, faultOfDocuments } from "../documents.ts";
import type { Found, JsonObject, Reading } from "../found.ts";
import { jsonValues } from "../json-values.ts";
import type { SourceFile } from "../source-files.ts";

/** The options of an import that other schedulers' formats use. */
export interface NeighbourParams {
  /** The target of every schedule: Carillon runs no code of another scheduler itself. */
  target: JsonObject;
  /** The zone of schedules without one of their own. */
  timezone: string | undefined;
  /** The environment to read, where a file has several. */
  environment: string | undefined;
}

/** The format of another scheduler. */
export interface Neighbour {
  /** Whether a document of YAML or JSON is of this format. */
  isOf(document: unknown): boolean;
  read(files: readonly SourceFile[], params: NeighbourParams): Reading;
}

/** The documents of a file of YAML, or the values of JSON, one or several in a row. */
export function valuesIn(file: SourceFile): unknown[] {
  const values = /^\s*[[{]/.test(file.text) ? jsonValues(file.text) : null;
  if (values === null) return documentsIn(file);
  refuseInexactNumbers(file.text);
  return values;
}

/** Reads each document of each file; a file that cannot be read is one impossible schedule. */
export function readEach(
  files: readonly SourceFile[],
  read: (document: unknown, from: string) => Found[],
): Found[] {
  return files.flatMap((file) => {
    try {
      const values = valuesIn(file);
      return values.flatMap((value, index) =>
        read(value, values.length === 1 ? file.name : `${file.name} [${index}]`),
      );
    } catch (error) {
      return [impossible(file.name, null, faultOfDocuments(error))];
    }
  });
}

/** A place within a file, with the name of a record if it has one. */
export function placeOf(file: string, name: unknown): string {
  return typeof name === "string" && name !== "" ? `${file} ${name}` : file;
}

export function impossible(from: string, key: string | null, fault: string): Found {
  return { from, key, body: {}, differences: [], faults: [fault] };
}

/** A key of names of the source, without the characters that keys do not take. */
export function keyOf(...names: readonly string[]): string {
  return names.map((name) => name.trim().replace(/[/?#%\\]+/g, "-")).join(":");
}
