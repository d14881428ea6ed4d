import { describe, expect, test } from "vitest";
import { receiver } from "./receiver.ts";
import { sender } from "./sender.ts";

describe("the address", () => {
  const listening = async () => {
    const { host, received } = await receiver((response) => response.end("here"));
    const named = host.replace("127.0.0.1", "hooks.example.com");
    return { named, url: `http://${named}/`, received };
  };

  test("the connection goes to the checked address, which is looked up once for each attempt", async () => {
    const { named, url, received } = await listening();
    // No server listens on that port of the second address.
    const turns = [["127.0.0.1"], ["::1"]];
    const { send, asked } = sender({ allow: named, resolve: async () => turns.shift() ?? [] });
    expect(await send(url)).toMatchObject({ kind: "answered", excerpt: "here" });
    expect(asked).toEqual(["hooks.example.com"]);
    expect(received.map(({ headers }) => headers.host)).toEqual([named]);
    expect(await send(url)).toMatchObject({ kind: "failed" });
    expect(asked).toEqual(["hooks.example.com", "hooks.example.com"]);
    expect(received).toHaveLength(1);
  });

  test("the connection goes to the next address if the first does not accept it", async () => {
    const { named, url } = await listening();
    const { send } = sender({ allow: named, resolve: async () => ["::1", "127.0.0.2", "127.0.0.1"] });
    expect(await send(url)).toMatchObject({ kind: "answered", excerpt: "here" });
  });

  test("the address is checked at each attempt", async () => {
    const { send, asked } = sender({ resolve: async () => ["169.254.169.254"] });
    for (let attempt = 1; attempt <= 2; attempt++) {
      expect(await send("https://hooks.example.com/")).toEqual({
        kind: "refused",
        error:
          "hooks.example.com points to 169.254.169.254, which is a link-local address: webhooks go only to public addresses.",
      });
      expect(asked).toHaveLength(attempt);
    }
  });

  test.each([
    [["1.1.1.1", "127.0.0.1"]],
    [["127.0.0.1", "1.1.1.1"]],
    [["1.1.1.1", "2606:4700::1", "::ffff:10.0.0.1"]],
    [["1.1.1.1", "fe80::1%eth0"]],
    [["1.1.1.1", ""]],
  ])("a private address makes the public ones beside it forbidden: %j", async (addresses) => {
    const { send } = sender({ resolve: async () => addresses });
    expect(await send("https://hooks.example.com/")).toMatchObject({ kind: "refused" });
  });

  test("an address in the URL is not looked up in DNS", async () => {
    const { send, asked } = sender({ resolve: async () => ["1.1.1.1"] });
    expect(await send("https://127.0.0.1/")).toMatchObject({ kind: "refused" });
    expect(await send("https://[::1]/")).toMatchObject({ kind: "refused" });
    expect(asked).toEqual([]);
  });
});
