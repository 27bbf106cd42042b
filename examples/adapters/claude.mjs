// browserd's commands as tools of the Claude Agent SDK: an MCP server in this process. (The
// SDK can also start `browserd mcp` itself: mcpServers: { browserd: { command: 'browserd', args: ['mcp'] } }.)
//
//   npm ci && npm install ../../clients/typescript
//   BROWSERD_TOKEN=… node claude.mjs ws://127.0.0.1:9333/v1/ws http://127.0.0.1:8080/
import { createSdkMcpServer, tool } from '@anthropic-ai/claude-agent-sdk';
import { connect } from '@browserd/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { fromJSONSchema } from 'zod';
import { defaultTools, run } from './browser.mjs';
import { next } from './model.mjs';

export const browserServer = (client) =>
  createSdkMcpServer({
    name: 'browserd',
    version: '1.0.0',
    tools: defaultTools.map((t) =>
      tool(t.name, t.description, fromJSONSchema(t.parameters).shape, async (args, { signal }) => ({
        content: [{ type: 'text', text: await run(client, t.name, args, signal) }],
      })),
    ),
  });

const client = await connect({ url: process.argv[2] });
const browserd = browserServer(client);

// With a model: query({ prompt: task, options: { mcpServers: { browserd }, allowedTools: ['mcp__browserd__*'] } }).
// Without one, an MCP client calls the server's tools, as the SDK does.
const [mine, its] = InMemoryTransport.createLinkedPair();
await browserd.instance.connect(its);
const mcp = new Client({ name: 'example', version: '1.0.0' });
await mcp.connect(mine);
let step = next();
while (step.name) {
  const { content } = await mcp.callTool({ name: step.name, arguments: step.args });
  step = next(content[0].text);
}
console.log(step.text);
await mcp.close();
client.close();
