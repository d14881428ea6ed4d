import { execFile } from "node:child_process";

export interface NpmAnswer {
  code: number;
  output: string;
  errors: string;
}

/** Runs npm in a folder. npm also writes its answer when it ends with another code than 0. */
export function npm(folder: string, args: readonly string[]): Promise<NpmAnswer> {
  return new Promise((resolve) => {
    execFile("npm", args, { cwd: folder, maxBuffer: 64_000_000 }, (error, output, errors) => {
      const code = typeof error?.code === "number" ? error.code : 1;
      resolve({ code: error === null ? 0 : code, output, errors: errors || (error?.message ?? "") });
    });
  });
}
