// browserd's commands as tools of the Vercel AI SDK.
//
//   npm ci && npm install ../../clients/typescript
//   BROWSERD_TOKEN=… node ai.mjs ws://127.0.0.1:9333/v1/ws http://127.0.0.1:8080/
import { connect } from '@browserd/client';
import { generateText, isStepCount, jsonSchema, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { defaultTools, run } from './browser.mjs';
import { next, task } from './model.mjs';

export const browserTools = (client) =>
  Object.fromEntries(
    defaultTools.map((t) => [
      t.name,
      tool({
        description: t.description,
        inputSchema: jsonSchema(t.parameters),
        execute: (args, { abortSignal }) => run(client, t.name, args, abortSignal),
      }),
    ]),
  );

// In place of a model such as anthropic('…').
const usage = { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    const step = next(last.role === 'tool' ? last.content.at(-1).output.value : undefined);
    const content = step.name
      ? [{ type: 'tool-call', toolCallId: `call-${prompt.length}`, toolName: step.name, input: JSON.stringify(step.args) }]
      : [{ type: 'text', text: step.text }];
    return { content, usage, warnings: [], finishReason: { unified: step.name ? 'tool-calls' : 'stop' } };
  },
});

const client = await connect({ url: process.argv[2] });
const { text } = await generateText({ model, tools: browserTools(client), stopWhen: isStepCount(10), prompt: task });
console.log(text);
client.close();
