package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/internal/testdaemon"
)

// shop is the site of testdata/playwright: what the scripts there are played on.
func shop(t *testing.T) *pageServer {
	t.Helper()
	w := newPageServer(t)
	for _, name := range []string{"form", "table", "search", "files", "frames", "payment", "widgets"} {
		text, err := os.ReadFile("testdata/playwright/site/" + name + ".html")
		if err != nil {
			t.Fatal(err)
		}
		w.serve("GET /"+name, string(text), "")
	}
	const head = `<!doctype html><meta charset=utf-8><title>%s</title><nav><a href="/dashboard">Home</a> <a href="/table">Orders</a> <a href="/form">Register</a></nav>`
	html := func(rw http.ResponseWriter, title, body string, args ...any) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(rw, head+body, append([]any{title}, args...)...)
	}
	const login = `<h1>Log in</h1>%s<form method=post action=/login><label>Username <input id=username name=username></label><label>Password <input id=password type=password name=password></label><button id=login type=submit>Log in</button></form>`
	w.mux.HandleFunc("GET /login", func(rw http.ResponseWriter, r *http.Request) { html(rw, "Log in", login, "") })
	w.mux.HandleFunc("POST /login", func(rw http.ResponseWriter, r *http.Request) {
		if r.FormValue("username") != "ann" || r.FormValue("password") != "secret" {
			html(rw, "Log in", login, `<p class="error" role=alert>Invalid username or password</p>`)
			return
		}
		http.SetCookie(rw, &http.Cookie{Name: "session", Value: "ann", Path: "/"})
		http.Redirect(rw, r, "/dashboard", http.StatusSeeOther)
	})
	w.mux.HandleFunc("GET /logout", func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "session", Path: "/", MaxAge: -1})
		http.Redirect(rw, r, "/login", http.StatusSeeOther)
	})
	w.mux.HandleFunc("GET /dashboard", func(rw http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("session")
		if err != nil {
			http.Redirect(rw, r, "/login", http.StatusSeeOther)
			return
		}
		html(rw, "Dashboard", `<h1>Welcome, %s</h1><a href="/logout">Log out</a>`, c.Value)
	})
	type product struct {
		SKU   string  `json:"sku"`
		Name  string  `json:"name"`
		Price float64 `json:"price"`
	}
	var products []product
	for i, name := range []string{"Apples", "Bread", "Cheese", "Dates", "Eggs", "Flour", "Honey", "Jam", "Milk", "Tea"} {
		products = append(products, product{fmt.Sprintf("p%d", i), name, 1.1 + float64(i)/3})
	}
	products[8].Price, products[9].Price = 0.99, 4.10
	const perPage = 4
	paged := func(r *http.Request, all []product) ([]product, int, bool) {
		n, _ := strconv.Atoi(r.FormValue("page"))
		n = max(n, 1)
		from, to := min((n-1)*perPage, len(all)), min(n*perPage, len(all))
		return all[from:to], n, to < len(all)
	}
	w.mux.HandleFunc("GET /products", func(rw http.ResponseWriter, r *http.Request) {
		items, n, more := paged(r, products)
		var b strings.Builder
		b.WriteString("<h1>Products</h1><p>Cart: <span id=cart-count>0</span> <span id=cart></span></p>")
		for _, p := range items {
			fmt.Fprintf(&b, `<div class="product"><h3>%s</h3><span class="price">$%.2f</span><button onclick="names.push('%s'); document.getElementById('cart-count').textContent = names.length; document.getElementById('cart').textContent = names.join(', ')">Add to cart</button></div>`, p.Name, p.Price, p.Name)
		}
		b.WriteString("<script>const names = [];</script>")
		if n > 1 {
			fmt.Fprintf(&b, `<a rel=prev href="/products?page=%d">Previous</a> `, n-1)
		}
		if more {
			fmt.Fprintf(&b, `<a rel=next href="/products?page=%d">Next</a>`, n+1)
		}
		html(rw, "Products", "%s", b.String())
	})
	found := func(r *http.Request) []product {
		list := []product{}
		for _, p := range products {
			if strings.Contains(strings.ToLower(p.Name), strings.ToLower(r.FormValue("q"))) {
				list = append(list, p)
			}
		}
		return list
	}
	reply := func(rw http.ResponseWriter, v any) {
		rw.Header().Set("Content-Type", "application/json")
		json.NewEncoder(rw).Encode(v)
	}
	w.mux.HandleFunc("GET /api/suggest", func(rw http.ResponseWriter, r *http.Request) {
		names := []string{}
		for _, p := range found(r) {
			names = append(names, p.Name)
		}
		reply(rw, names)
	})
	w.mux.HandleFunc("GET /api/products", func(rw http.ResponseWriter, r *http.Request) {
		all := found(r)
		items, _, more := paged(r, all)
		reply(rw, map[string]any{"items": items, "more": more, "total": len(all)})
	})
	w.mux.HandleFunc("GET /report.csv", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Disposition", "attachment; filename=report.csv")
		rw.Header().Set("Content-Type", "text/csv")
		fmt.Fprint(rw, "id,total\n1,40\n")
	})
	w.mux.HandleFunc("POST /api/upload", func(rw http.ResponseWriter, r *http.Request) {
		_, h, err := r.FormFile("f")
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(rw, "received %s", h.Filename)
	})
	return w
}

// Scripts of the common kinds, as models write them for Playwright, run as they are written.
func TestPlaywrightHabits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/playwright/scripts.txtar")
	if err != nil {
		t.Fatal(err)
	}
	// With the race detector the engine of scripts takes many times its time.
	bin, err := testdaemon.PlainBinary()
	if err != nil {
		t.Fatal(err)
	}
	d := testdaemon.Start(t, testdaemon.Options{Binary: bin})
	w := shop(t)
	n, failing := 0, 0
	for _, part := range strings.Split(string(text), "\n-- ")[1:] {
		name, code, _ := strings.Cut(part, " --\n")
		first, code, _ := strings.Cut(code, "\n")
		want, ok := strings.CutPrefix(first, "// returns ")
		fails, not := strings.CutPrefix(first, "// fails ")
		switch {
		case ok:
			n++
		case not:
			failing++
		default:
			t.Fatalf("%s: its first line is %q", name, first)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, d)
			a.do("session_open", params{"downloads": true})
			var r ran
			err := a.c.Call(t.Context(), "run", params{"code": code, "input": params{"url": w.URL}}, &r)
			switch {
			case not:
				if err == nil || !strings.Contains(err.Error(), fails) {
					t.Errorf("%v, want %q", err, fails)
				}
			case err != nil:
				t.Errorf("%v: %s", err, detailsOf(err))
			default:
				if got := asJSON(t, r.Value); got != want {
					t.Errorf("%s, want %s (%d steps, logs %q)", got, want, r.Steps, r.Logs)
				}
			}
			a.do("session_close", params{"session": r.Session})
		})
	}
	// With the scripts of TestPlaywrightScripts there are over 120.
	if n < 80 || failing*20 > n {
		t.Errorf("%d scripts run and %d do not", n, failing)
	}
}

// asJSON is a value as the scripts write it down: without HTML's escapes.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// A task is done with the tools of the set code alone, and what a failed script says is
// enough to write it right.
func TestMCPTaskByScripts(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := shop(t)
	s := connect(t, transports(t, d, "code")["http"], nil)
	code := fmt.Sprintf("await page.goto('%s/login');\nawait page.getByLabel('User name').fill('ann', {timeout: 200});", w.URL)
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"code": code}})
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Content[0].(*mcp.TextContent).Text; !r.IsError || !strings.Contains(text, `"Username"`) {
		t.Errorf("a label that is not there: %s", text)
	}
	answer := strings.Join(use(t, s, "run", map[string]any{"code": `await page.getByLabel('Username').fill('ann');
await page.getByLabel('Password').fill('secret');
await page.getByRole('button', {name: 'Log in'}).click();
await page.getByRole('link', {name: 'Orders'}).click();
let sum = 0;
for (const cell of await page.locator('td.total').allTextContents()) sum += Number(cell.slice(1));
return sum.toFixed(2);`}), "\n")
	if !strings.Contains(answer, "195.84") {
		t.Errorf("the sum is not in %s", answer)
	}
	use(t, s, "snapshot", nil)
}
