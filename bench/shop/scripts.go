package main

// byScript are the scripts of the tasks, for any tool with Playwright's page. They begin on
// the page that the player has looked at.
var byScript = map[string]string{
	"order": `await page.getByLabel('User').fill('ann');
await page.getByLabel('Password').fill('tea-4711');
await page.getByRole('button', { name: 'Log in' }).click();
await page.getByRole('link', { name: 'Order 1042' }).click();
return page.getByText('Total:').innerText();`,
	"prices": `await page.getByLabel('Search the shop').fill('kettle');
await page.getByRole('button', { name: 'Search' }).click();
const found = [];
for (let n = 1; n <= 3; n++) {
  await page.getByText('Page ' + n + ' of').waitFor();
  found.push(...await page.getByRole('main').getByRole('listitem').allInnerTexts());
  if (n < 3) await page.getByRole('link', { name: 'Next' }).click();
}
const price = (text) => Number(text.split(': ')[1]);
return found.sort((a, b) => price(a) - price(b))[0];`,
	"form": `await page.getByLabel('Full name').fill('Ann Lee');
await page.getByLabel('Phone').fill('12 34 56');
await page.getByRole('button', { name: 'Next' }).click();
await page.getByRole('alert').or(page.getByLabel('Plan')).waitFor();
if (await page.getByRole('alert').count()) {
  await page.getByLabel('Phone').fill('123456');
  await page.getByRole('button', { name: 'Next' }).click();
}
await page.getByLabel('Plan').selectOption('Family');
await page.getByRole('button', { name: 'Register' }).click();
return page.getByRole('status').innerText();`,
	"table": `await page.getByLabel('Category').selectOption('Tea');
await page.getByRole('button', { name: 'Price' }).click();
const first = await page.locator('tbody tr').first().innerText();
await page.getByRole('link', { name: 'Export' }).click();
return first;`,
	"cart": `await page.getByRole('button', { name: 'Add Oolong to the cart' }).click();
await page.getByRole('button', { name: 'Add Cocoa to the cart' }).click();
await page.getByRole('link', { name: 'Cart' }).click();
await page.getByLabel('Quantity of Cocoa').fill('3');
await page.getByRole('button', { name: 'Order' }).click();
return page.getByRole('status').innerText();`,
	"autocomplete": `await page.getByLabel('Product').pressSequentially('lap');
await page.getByRole('option', { name: 'Lapsang Souchong' }).click();
return page.getByText('Article number').innerText();`,
}
