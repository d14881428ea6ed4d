import { watch } from "node:fs";
import path from "node:path";

/** An editor writes a file in several steps: they are one change. */
const settleMs = 60;

export interface Watched {
  /** Files may be added by a change; then their folders are watched too. */
  files: ReadonlySet<string>;
  /** Other changes of the folders that count: a file that is new in a folder of files. */
  takes?: (file: string) => boolean;
  /** Never rejects. Calls do not overlap. */
  changed(): Promise<void>;
  /** The folder cannot be watched any more. */
  unwatched(folder: string, error: Error): void;
}

/** Watches the folders of the files, because many editors replace a file. */
export function watchFiles({ files, takes = () => false, changed, unwatched }: Watched): void {
  const watched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let changes = Promise.resolve();
  const seen = (folder: string, name: string | null) => {
    const file = name === null ? null : path.join(folder, name);
    if (file !== null && !files.has(file) && !takes(file)) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      // A new import may be in a folder that is not watched yet.
      changes = changes.then(changed).then(watchFolders);
    }, settleMs);
  };
  const watchFolders = () => {
    for (const folder of new Set([...files].map((file) => path.dirname(file)))) {
      if (watched.has(folder)) continue;
      const watcher = watch(folder, (_event, name) => seen(folder, name));
      watcher.on("error", (error) => unwatched(folder, error));
      watched.add(folder);
    }
  };
  watchFolders();
}
