/** A request that makes no project. It is found before anything is written. */
export class Fault extends Error {
  override readonly name = "Fault";
}
