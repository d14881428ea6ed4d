import { expect, test } from "vitest";
import { kit } from "./kit.ts";

const event = { event: { source: "carillon", detailType: "order.due" } };

test("A schedule whose key has not the prefix of a target in targetPrefixes is refused, and another one runs", async () => {
  await using carillon = await kit({
    targetPrefixes: ["billing:=queue/charges*", "billing:=source/carillon"],
  });
  for (const target of [{ queue: "charges-fast" }, event])
    await expect(carillon.put("shop:order", { when: "in 5m", target })).rejects.toMatchObject({
      status: 422,
    });
  await carillon.put("shop:order", { when: "in 5m", target: { queue: "orders" } });
  await carillon.put("billing:order", { when: "in 6m", target: { queue: "charges-fast" } });
  await carillon.advance("10m");
  expect(carillon.deliveries()).toMatchObject([{ target: "orders" }, { target: "charges-fast" }]);
});

test("An entry of targetPrefixes that is not understood is an error with the allowed form", async () => {
  await expect(kit({ targetPrefixes: ["billing:=charges"] })).rejects.toThrow(
    "it takes a prefix of keys and one of queue, bus, source, function, handler with a name",
  );
});
