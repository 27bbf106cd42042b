// browserd's commands as tools of LangChain.
//
//   npm ci && npm install ../../clients/typescript
//   BROWSERD_TOKEN=… node langchain.mjs ws://127.0.0.1:9333/v1/ws http://127.0.0.1:8080/
import { connect } from '@browserd/client';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { FakeChatModel } from '@langchain/core/utils/testing';
import { defaultTools, run } from './browser.mjs';
import { next, task } from './model.mjs';

export const browserTools = (client) =>
  defaultTools.map((t) =>
    tool((args, { signal } = {}) => run(client, t.name, args, signal), { name: t.name, description: t.description, schema: t.parameters }),
  );

// In place of a model such as ChatAnthropic.
class Model extends FakeChatModel {
  bindTools() {
    return this;
  }
  async _generate(messages) {
    const last = messages.at(-1);
    const { name, args, text = '' } = next(last.getType() === 'tool' ? last.content : undefined);
    const message = new AIMessage({ content: text, tool_calls: name ? [{ name, args, id: `call-${messages.length}`, type: 'tool_call' }] : [] });
    return { generations: [{ message, text }] };
  }
}

const client = await connect({ url: process.argv[2] });
const tools = browserTools(client);
const model = new Model({}).bindTools(tools);
const messages = [new HumanMessage(task)];
for (let steps = 0; steps < 10; steps++) {
  const answer = await model.invoke(messages);
  messages.push(answer);
  if (!answer.tool_calls.length) break;
  for (const call of answer.tool_calls) messages.push(await tools.find((t) => t.name === call.name).invoke(call));
}
console.log(messages.at(-1).content);
client.close();
