import { TestCarillon, type TestCarillonOptions } from "../../lib/tools/testing/test-carillon.ts";
import { testDatabase } from "../support/database.ts";

/** The test kit over a database of the server that the tests of this repository share. */
export async function kit(options: TestCarillonOptions = {}): Promise<TestCarillon> {
  const database = await testDatabase("still");
  return TestCarillon.over({ url: database.socketUrl, giveBack: () => database.drop() }, options);
}
