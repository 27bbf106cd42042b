// browserd's commands as tools of the OpenAI Agents SDK.
//
//   npm ci && npm install ../../clients/typescript
//   BROWSERD_TOKEN=… node openai.mjs ws://127.0.0.1:9333/v1/ws http://127.0.0.1:8080/
import { connect } from '@browserd/client';
import { Agent, run as runAgent, setTracingDisabled, tool, Usage } from '@openai/agents';
import { defaultTools, run } from './browser.mjs';
import { next, task } from './model.mjs';

export const browserTools = (client) =>
  defaultTools.map((t) =>
    tool({
      name: t.name,
      description: t.description,
      parameters: { ...t.parameters, required: t.parameters.required ?? [], additionalProperties: true },
      strict: false,
      execute: (args) => run(client, t.name, args),
    }),
  );

// In place of a model's name.
const model = {
  async getResponse({ input }) {
    const last = typeof input === 'string' ? undefined : input.at(-1);
    const step = next(last?.type === 'function_call_result' ? (last.output.text ?? last.output) : undefined);
    const output = step.name
      ? { type: 'function_call', callId: `call-${input.length}`, name: step.name, arguments: JSON.stringify(step.args), status: 'completed' }
      : { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: step.text }] };
    return { usage: new Usage(), output: [output] };
  },
};

setTracingDisabled(true); // it would send what the agent does to OpenAI
const client = await connect({ url: process.argv[2] });
const agent = new Agent({ name: 'Shopper', instructions: 'You use a browser.', tools: browserTools(client), model });
console.log((await runAgent(agent, task)).finalOutput);
client.close();
