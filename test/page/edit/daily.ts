import { ownPage } from "../own-page.ts";

/** The schedule that the tests of the editor change. */
export const daily = { when: "0 9 * * *", timezone: "Europe/Berlin", target: { queue: "reports" } };

/** A page of their own, two days before a clock change. */
export const editorPage = () => ownPage("2027-03-26T12:00:00.000Z");
