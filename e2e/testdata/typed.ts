// What tsc makes of programs that use the client.
import { connect, PageText, StaleRefError, type Client } from '@browserd/client';

export async function right(client: Client): Promise<string[]> {
  const page = await client.open({ url: 'https://example.com', wait_until: 'load' });
  await client.click({ ref: { role: 'button', name: 'Save' }, modifiers: ['Control'] }, { signal: AbortSignal.timeout(1000) });
  const status: number = page.page.status;
  const text: string = new PageText().apply(page);
  for await (const event of client.events()) if (event.type === 'dialog') return [event.message, text];
  try {
    return [(await client.read({ kind: 'text' })).content];
  } catch (e) {
    if (e instanceof StaleRefError) return [e.code satisfies 'stale_ref', e.next, `${status}`];
    throw e;
  }
}

export async function wrong(): Promise<void> {
  const client = await connect({ session: 'work', timeout: 5000 });
  // @ts-expect-error a parameter is missing
  await client.open();
  // @ts-expect-error of another type
  await client.open({ url: 1 });
  // @ts-expect-error no such command
  await client.clik({ ref: '@e1' });
  // @ts-expect-error no such parameter
  await client.click({ reff: '@e1' });
  // @ts-expect-error no such value
  await client.click({ ref: '@e1', button: 'top' });
  // @ts-expect-error not in the result
  (await client.read({ kind: 'text' })).text;
  for await (const event of client.events()) {
    // @ts-expect-error no such event
    if (event.type === 'dialogue') return;
    // @ts-expect-error another event has it
    if (event.type === 'dialog') event.name;
  }
}
