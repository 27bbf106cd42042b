package e2e_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
)

const signInPage = `<h1>Sign in</h1>
<form onsubmit="event.preventDefault(); location.hash = 'in'; out.textContent = 'Welcome, ' + user.value; setTimeout(() => late.hidden = false, 300)">
<label>User <input id=user name=user placeholder="Your name"></label><label>Password <input type=password name=password></label>
<label><input type=checkbox name=keep> Keep me signed in</label>
<label>Country <select name=country><option value=no>Norway</option><option value=se>Sweden</option></select></label>
<button>Sign in</button></form><p id=out role=status></p><p id=late hidden>Ready now</p>
<table id=prices><thead><tr><th>Name</th><th>Price</th></tr></thead><tbody>
<tr><td>Milk</td><td>12</td></tr><tr><td>Bread</td><td>30</td></tr><tr><td>Salt</td><td>5</td></tr></tbody></table>
<button data-testid=ask onclick="out.textContent = confirm('Sure?') ? 'yes' : 'no'">Ask</button>
<button onclick="out.textContent = prompt('Name?', 'x')">Prompt</button>
<a href="#one" title="first">One</a><a href="#two" target=_blank>Second tab</a>
<input type=file aria-label=File onchange="out.textContent = this.files[0].name">
<button disabled>Off</button><img alt="A logo" src="data:,">`

// Scripts as models write them by habit for Playwright run as they are written.
func TestPlaywrightScripts(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/shop", page("Shop", signInPage), "")
	for name, c := range map[string]struct{ code, want string }{
		"log in": {`await page.getByLabel('User').fill('ann'); await page.getByLabel('Password').fill('hunter2');
await page.getByRole('button', { name: 'Sign in' }).click(); return await page.locator('#out').textContent();`, `"Welcome, ann"`},
		"by css":       {`await page.fill('input[name="user"]', 'bob'); await page.click('button:has-text("Sign in")'); return page.innerText('#out');`, `"Welcome, bob"`},
		"placeholder":  {`await page.getByPlaceholder('Your name').fill('eve'); return await page.inputValue('#user');`, `"eve"`},
		"a function":   {"async ({ page }) => {\n  return await page.title();\n}", `"Shop"`},
		"table":        {`return await page.$$eval('#prices tbody tr', rows => rows.map(r => [...r.cells].map(c => c.textContent)));`, `[["Milk","12"],["Bread","30"],["Salt","5"]]`},
		"rows":         {`const out = []; for (const row of await page.locator('tbody tr').all()) { const c = row.locator('td'); out.push({ name: await c.nth(0).innerText(), price: Number(await c.nth(1).innerText()) }); } return out;`, `[{"name":"Milk","price":12},{"name":"Bread","price":30},{"name":"Salt","price":5}]`},
		"role rows":    {`const rows = page.getByRole('row'); const n = await rows.count(); return [n, await rows.nth(n - 1).innerText()];`, `[4,"Salt\t5"]`},
		"filter":       {`return await page.getByRole('row').filter({ hasText: 'Bread' }).getByRole('cell').last().textContent();`, `"30"`},
		"has":          {`return await page.locator('tr').filter({ has: page.getByText('Salt') }).locator('td').allTextContents();`, `["Salt","5"]`},
		"wait":         {`await page.getByRole('button', { name: 'Sign in' }).click(); await page.waitForSelector('#late', { state: 'visible' }); return page.locator('#late').isVisible();`, `true`},
		"wait text":    {`await page.getByRole('button', { name: 'Sign in' }).click(); await page.getByText('Ready now').waitFor(); return 'ok';`, `"ok"`},
		"expect":       {`import { test, expect } from '@playwright/test';` + "\ntest('signs in', async ({ page }) => {\n  await page.getByLabel('User').fill('ann');\n  await page.getByRole('button', { name: 'Sign in' }).click();\n  await expect(page.locator('#out')).toHaveText('Welcome, ann');\n  await expect(page.getByText('Ready now')).toBeVisible();\n  await expect(page).toHaveURL(/#in$/);\n});", `null`},
		"check":        {`const c = page.getByLabel('Keep me signed in'); await c.check(); const a = await c.isChecked(); await c.uncheck(); return [a, await c.isChecked()];`, `[true,false]`},
		"select":       {`await page.getByLabel('Country').selectOption('se'); return await page.locator('select').inputValue();`, `"se"`},
		"select label": {`await page.selectOption('select[name=country]', { label: 'Sweden' }); return await page.$eval('select', s => s.value);`, `"se"`},
		"dialog":       {`page.on('dialog', d => d.accept()); await page.getByTestId('ask').click(); return page.textContent('#out');`, `"yes"`},
		"dialog once":  {`page.once('dialog', async dialog => { console.log(dialog.message()); await dialog.dismiss(); }); await page.getByTestId('ask').click(); return page.textContent('#out');`, `"no"`},
		"no listener":  {`await page.getByTestId('ask').click(); return page.textContent('#out');`, `"no"`},
		"prompt":       {`page.on('dialog', d => d.accept('Ann')); await page.getByText('Prompt').click(); return page.textContent('#out');`, `"Ann"`},
		"second tab":   {`const [popup] = await Promise.all([page.waitForEvent('popup'), page.getByText('Second tab').click()]); await popup.waitForLoadState(); const u = popup.url(); await popup.close(); return u.endsWith('#two');`, `true`},
		"new page":     {`const p = await page.context().newPage(); await p.goto(input.url); const t = await p.title(); await p.close(); return t;`, `"Shop"`},
		"upload":       {`await page.setInputFiles('input[type=file]', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') }); return page.textContent('#out');`, `"a.txt"`},
		"keyboard":     {`await page.locator('#user').click(); await page.keyboard.type('kim'); await page.keyboard.press('Enter'); return page.textContent('#out');`, `"Welcome, kim"`},
		"press":        {`await page.locator('#user').pressSequentially('lee'); await page.locator('#user').press('Enter'); return page.textContent('#out');`, `"Welcome, lee"`},
		"evaluate":     {`return await page.evaluate(n => document.querySelectorAll('td').length * n, 2);`, `12`},
		"attribute":    {`return [await page.getByTitle('first').getAttribute('href'), await page.getByAltText('A logo').count(), await page.getByText('Off').isEnabled()];`, `["#one",1,false]`},
		"url":          {`await page.getByRole('link', { name: 'One' }).click(); await page.waitForURL('**/shop#one'); return new URL(page.url()).hash;`, `"#one"`},
		"xpath":        {`return await page.locator('//table//tr[2]/td[1]').textContent();`, `"Bread"`},
		"text engine":  {`return await page.locator('text=Bread').count();`, `1`},
		"viewport":     {`await page.setViewportSize({ width: 700, height: 500 }); return [page.viewportSize(), await page.evaluate(() => innerWidth)];`, `[{"height":500,"width":700},700]`},
		"route":        {`await page.route('**/api/prices', r => r.fulfill({ json: [1, 2] })); const a = await page.evaluate(() => fetch('/api/prices').then(r => r.json())); await page.unroute('**/api/prices'); return [a, await page.evaluate(() => fetch('/api/prices').then(r => r.status))];`, `[[1,2],404]`},
		"init script":  {`await page.addInitScript(() => { window.early = 7; }); await page.goto(input.url); return page.evaluate(() => window.early);`, `7`},
		"media":        {`await page.emulateMedia({ colorScheme: 'dark' }); return page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches);`, `true`},
		"box":          {`const b = await page.getByRole('button', { name: 'Ask' }).boundingBox(); return b.width > 10 && b.height > 10 && typeof b.x === 'number';`, `true`},
		"screenshot":   {`return (await page.screenshot()).length > 100;`, `true`},
		"pages":        {`const all = []; for (;;) { all.push(await page.title()); if (all.length > 1) break; await page.goto(input.url + '?2'); } return all;`, `["Shop","Shop"]`},
		"fails":        {`try { await page.getByRole('button', { name: 'Sing in' }).click({ timeout: 300 }); } catch (e) { return [e.name, e.message.includes('"Sign in"')]; }`, `["TimeoutError",true]`},
		"strict":       {`try { await page.getByRole('row').click(); } catch (e) { return [e.code, e.details.candidates.length]; }`, `["ambiguous_target",4]`},
		"or":           {`return await page.getByText('nowhere').or(page.getByText('Milk')).first().innerText();`, `"Milk"`},
		"launch":       {`const { chromium } = require('playwright'); const browser = await chromium.launch(); const page = await browser.newPage(); await page.goto(input.url); const h = await page.textContent('h1'); await browser.close(); return h;`, `"Sign in"`},
		"not awaited":  {`page.fill('#user', 'zoe'); page.click('text=Sign in >> nth=1'); return page.textContent('#out');`, `"Welcome, zoe"`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, d)
			a.do("open", params{"url": w.URL + "/shop"})
			r := a.run(params{"code": c.code, "input": params{"url": w.URL + "/shop"}})
			if got, _ := json.Marshal(r.Value); string(got) != c.want {
				t.Errorf("%s, want %s (%d steps)", got, c.want, r.Steps)
			}
			a.do("session_close", params{"session": r.Session})
		})
	}
}

var scriptExample = regexp.MustCompile("(?s)```js\n(.*?)```\n\n```json\n(.*?)\n```")

// Each example of docs/scripts.md returns what stands under it.
func TestScriptsOfTheDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/shop", page("Shop", signInPage), "")
	examples := scriptExample.FindAllStringSubmatch(string(text), -1)
	if len(examples) != 10 {
		t.Errorf("%d examples", len(examples))
	}
	for _, e := range examples {
		a := newAgent(t, d)
		a.do("open", params{"url": w.URL + "/shop"})
		r := a.run(params{"code": e[1], "input": params{"url": w.URL + "/shop", "user": "ann"}})
		if got, _ := json.Marshal(r.Value); string(got) != e[2] {
			t.Errorf("%s\n%s, want %s", e[1], got, e[2])
		}
		a.do("session_close", params{"session": r.Session})
	}
}
