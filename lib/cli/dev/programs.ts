import { spawn } from "node:child_process";
import { once } from "node:events";
import { untilStopped } from "../../tools/local/until-stopped.ts";
import type { Programs } from "../command.ts";

/** The exit code of a program that a signal has ended. */
const ended = 1;

export const programs: Programs = {
  run: async (file, args) => {
    // The channel tells the program when this process is gone, however that happened.
    const child = spawn(process.execPath, [file, ...args], {
      stdio: ["inherit", "inherit", "inherit", "ipc"],
    });
    void untilStopped().then(() => child.kill("SIGTERM"));
    const [code] = await once(child, "exit");
    return typeof code === "number" ? code : ended;
  },
  read: async (file, args) => {
    const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    const [code] = await once(child, "close");
    return { code: typeof code === "number" ? code : ended, out, err };
  },
};
