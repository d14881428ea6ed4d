/** Stands for `carillon-dev/testing` in this repository: the same kit, on the server of its tests. */
export { kit as testCarillon } from "./kit.ts";
