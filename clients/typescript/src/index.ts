/**
 * The TypeScript client of browserd, without dependencies (Node 18 or later, Bun, Deno).
 *
 *     const page = await connect();
 *     console.log((await page.open({ url: "https://example.com" })).snapshot?.text);
 */
export { Client, connect, type Options } from "./client.ts";
export * from "./commands.ts";
export { PageText } from "./pagetext.ts";
export { type Tool, tools } from "./tools.ts";
