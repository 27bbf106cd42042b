package demoapp

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Shop is the demo's shop: tasks of several pages, and what a visitor has come to in each.
// Its zero value is a shop that nobody has visited. Any goroutine may use it.
type Shop struct {
	mu         sync.Mutex
	registered []Registration
	exports    []string // the queries of the exports
	cart       map[string]int
	orders     []map[string]int
	seen       []string // products whose page was opened
}

// Registration is what the form of two steps sends.
type Registration struct{ Name, Phone, Plan string }

// Task is one task: what is asked for, where it begins, and whether it is done.
type Task struct {
	Name, Ask, Path string
	// Done says what is missing from the shop's state and from the visitor's answer; nil: it
	// is done.
	Done func(s *Shop, answer string) error
}

// Tasks are the shop's.
func Tasks() []Task {
	answers := func(want string) func(*Shop, string) error {
		return func(_ *Shop, answer string) error {
			if !strings.Contains(answer, want) {
				return fmt.Errorf("the answer is %q and lacks %q", answer, want)
			}
			return nil
		}
	}
	return []Task{
		{"order", "Log in as ann with the password tea-4711 and say the total of order 1042.", "/login", answers("84.50")},
		{"prices", "Search for kettle and say name and price of the cheapest one on all three pages of results.", "/search", answers("Kettle 17: 11.90")},
		{"form", "Register Ann Lee with the phone number 12 34 56 and the plan Family; if the number is not accepted, write it as the page asks.", "/register", func(s *Shop, _ string) error {
			if want := (Registration{"Ann Lee", "123456", "Family"}); len(s.registered) != 1 || s.registered[0] != want {
				return fmt.Errorf("registered are %v, not %v alone", s.registered, want)
			}
			return nil
		}},
		{"table", "Show only the category Tea of the stock, sort it by price, export it, and say the name of the first row.", "/stock", func(s *Shop, answer string) error {
			if !slices.Equal(s.exports, []string{"category=Tea&sort=price"}) {
				return fmt.Errorf("the exports are %q", s.exports)
			}
			return answers("Tea 12")(s, answer)
		}},
		{"cart", "Put one Oolong and one Cocoa into the cart, make it three Cocoa there, order, and say the order's number.", "/products", func(s *Shop, answer string) error {
			if len(s.orders) != 1 || len(s.orders[0]) != 2 || s.orders[0]["Oolong"] != 1 || s.orders[0]["Cocoa"] != 3 {
				return fmt.Errorf("the orders are %v", s.orders)
			}
			return answers("N-2001")(s, answer)
		}},
		{"autocomplete", "Type lap into the product search, choose Lapsang Souchong from its suggestions, and say its article number.", "/find", func(s *Shop, answer string) error {
			if !slices.Equal(s.seen, []string{"Lapsang Souchong"}) {
				return fmt.Errorf("the products that were opened are %q", s.seen)
			}
			return answers("LS-730")(s, answer)
		}},
	}
}

// Done says whether the task is done, and if not, why.
func (s *Shop) Done(t Task, answer string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.Done(s, answer)
}

const shopHead = `<!doctype html><html lang=en><meta charset=utf-8><title>{{.Title}} · Pantry shop</title>
<header><nav aria-label=Main><a href="/products">Products</a> <a href="/search">Search</a> <a href="/find">Find</a> <a href="/stock">Stock</a> <a href="/cart">Cart</a> <a href="/orders">Orders</a> <a href="/register">Register</a></nav></header>
<main><h1>{{.Title}}</h1>`

// shopPages are the bodies of the pages.
var shopPages = func() map[string]*template.Template {
	pages := map[string]*template.Template{}
	for name, body := range map[string]string{
		"Log in": `{{with .Of.Error}}<p role=alert>{{.}}</p>{{end}}<form method=post><label>User <input name=user></label> <label>Password <input type=password name=password></label> <button>Log in</button></form>`,
		"Orders": `<table><thead><tr><th>Order</th><th>Date</th><th>State</th></tr></thead><tbody>{{range .Of}}<tr><td><a href="/orders/{{.}}">Order {{.}}</a></td><td>2026-11-{{slice . 2}}</td><td>sent</td></tr>{{end}}</tbody></table>`,
		"Order":  `<p>Sent to Ann Lee, 12 Harbour Street.</p><table><tbody><tr><td>Oolong</td><td>42.00</td></tr><tr><td>Cocoa</td><td>42.50</td></tr></tbody></table><p>Total: <output>{{.Of}}</output></p>`,
		"Search": `<form><label>Search the shop <input name=q value="{{.Of.Q}}"></label> <button>Search</button></form>{{if .Of.Items}}<p>Page {{.Of.Page}} of 3</p><ul aria-label=Results>{{range .Of.Items}}<li>{{.}}</li>{{end}}</ul>{{if .Of.Next}}<a href="/search?q={{.Of.Q}}&amp;page={{.Of.Next}}">Next page</a>{{end}}{{end}}`,
		"Register": `<form method=post><p>Step {{.Of.Step}} of 2</p>{{with .Of.Error}}<p role=alert>{{.}}</p>{{end}}
{{if eq .Of.Step 1}}<label>Full name <input name=name value="{{.Of.Name}}"></label> <label>Phone <input name=phone value="{{.Of.Phone}}"></label> <button name=step value=1>Next</button>
{{else}}<input type=hidden name=name value="{{.Of.Name}}"><input type=hidden name=phone value="{{.Of.Phone}}"><label>Plan <select name=plan><option>Single</option><option>Family</option><option>Office</option></select></label> <button name=step value=2>Register</button>{{end}}</form>`,
		"Registered": `<p role=status>Welcome, {{.Of}}</p>`,
		"Stock": `<label>Category <select id=category><option>All</option><option>Tea</option><option>Coffee</option><option>Cocoa</option></select></label> <a id=export href="/stock.csv" download>Export</a>
<table><thead><tr><th><button id=name>Name</button></th><th>Category</th><th><button id=price>Price</button></th></tr></thead><tbody></tbody></table><script src="/shop/stock.js"></script>`,
		"Products":  `<p role=status>In the cart: {{.Of.Cart}}</p><ul>{{range .Of.Items}}<li>{{.}} <form method=post action="/cart"><input type=hidden name=product value="{{.}}"><button>Add {{.}} to the cart</button></form></li>{{end}}</ul>`,
		"Cart":      `{{if .Of}}<form method=post action="/order"><table><tbody>{{range $name, $n := .Of}}<tr><td>{{$name}}</td><td><input type=number min=0 name="{{$name}}" value="{{$n}}" aria-label="Quantity of {{$name}}"></td></tr>{{end}}</tbody></table><button>Order</button></form>{{else}}<p>The cart is empty.</p>{{end}}`,
		"Thank you": `<p role=status>Your order has the number {{.Of}}</p>`,
		"Find":      `<label>Product <input id=product role=combobox aria-expanded=false aria-controls=suggestions autocomplete=off></label><ul id=suggestions role=listbox aria-label=Suggestions></ul><script src="/shop/find.js"></script>`,
		"Product":   `<h2>{{.Of}}</h2><p>Article number: <output>LS-730</output></p>`,
	} {
		pages[name] = template.Must(template.New(name).Parse(shopHead + body + "</main></html>"))
	}
	return pages
}()

func showPage(w http.ResponseWriter, title string, of any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	shopPages[title].Execute(w, struct {
		Title string
		Of    any
	}{title, of})
}

// article is a row of the stock.
type article struct {
	Name, Category string
	Price          float64
}

func stock() (all []article) {
	for i := range 60 {
		category := []string{"Tea", "Coffee", "Cocoa"}[i%3]
		all = append(all, article{fmt.Sprintf("%s %d", category, i), category, 5 + float64((i*37+53)%61)})
	}
	for i := range all {
		if all[i].Name == "Tea 12" {
			all[i].Price = 3.5
		}
	}
	return all
}

// Handler serves the shop.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, name := range []string{"stock", "find"} {
		mux.HandleFunc("GET /shop/"+name+".js", func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, static, "static/"+name+".js")
		})
	}
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) { showPage(w, "Log in", map[string]string{}) })
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("user") != "ann" || r.FormValue("password") != "tea-4711" {
			showPage(w, "Log in", map[string]string{"Error": "The user or the password is wrong"})
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "user", Value: "ann", Path: "/"})
		http.Redirect(w, r, "/orders", http.StatusSeeOther)
	})
	known := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if _, err := r.Cookie("user"); err != nil {
				http.Redirect(w, r, "/login", http.StatusSeeOther)
				return
			}
			next(w, r)
		}
	}
	mux.HandleFunc("GET /orders", known(func(w http.ResponseWriter, _ *http.Request) {
		var all []string
		for n := 1030; n < 1050; n++ {
			all = append(all, strconv.Itoa(n))
		}
		showPage(w, "Orders", all)
	}))
	mux.HandleFunc("GET /orders/{n}", known(func(w http.ResponseWriter, r *http.Request) {
		total := "84.50"
		if r.PathValue("n") != "1042" {
			total = "12.00"
		}
		showPage(w, "Order", total)
	}))
	mux.HandleFunc("GET /search", search)
	mux.HandleFunc("GET /register", func(w http.ResponseWriter, _ *http.Request) { showPage(w, "Register", registering{Step: 1}) })
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /stock", func(w http.ResponseWriter, _ *http.Request) { showPage(w, "Stock", nil) })
	mux.HandleFunc("GET /stock.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(stock())
	})
	mux.HandleFunc("GET /stock.csv", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.exports = append(s.exports, r.URL.RawQuery)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/csv")
		w.Header().Set("Content-Disposition", "attachment; filename=stock.csv")
		fmt.Fprintln(w, "name,price")
	})
	mux.HandleFunc("GET /products", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n := 0
		for _, of := range s.cart {
			n += of
		}
		showPage(w, "Products", struct {
			Cart  int
			Items []string
		}{n, []string{"Assam", "Cocoa", "Darjeeling", "Espresso", "Mocha", "Oolong", "Rooibos", "Sencha"}})
	})
	mux.HandleFunc("GET /cart", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		showPage(w, "Cart", s.cart)
	})
	mux.HandleFunc("POST /cart", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.cart == nil {
			s.cart = map[string]int{}
		}
		s.cart[r.FormValue("product")]++
		s.mu.Unlock()
		http.Redirect(w, r, "/products", http.StatusSeeOther)
	})
	mux.HandleFunc("POST /order", s.order)
	mux.HandleFunc("GET /find", func(w http.ResponseWriter, _ *http.Request) { showPage(w, "Find", nil) })
	mux.HandleFunc("GET /suggest", func(w http.ResponseWriter, r *http.Request) {
		found := []string{}
		for _, name := range []string{"Assam", "Lapsang Souchong", "Lapacho", "Oolong"} {
			if q := strings.ToLower(r.FormValue("q")); q != "" && strings.HasPrefix(strings.ToLower(name), q) {
				found = append(found, name)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(found)
	})
	mux.HandleFunc("GET /product/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.PathValue("name"))
		s.mu.Unlock()
		showPage(w, "Product", r.PathValue("name"))
	})
	return withPolicy(mux)
}

func search(w http.ResponseWriter, r *http.Request) {
	of := struct {
		Q          string
		Page, Next int
		Items      []string
	}{Q: r.FormValue("q"), Page: 1}
	if n, err := strconv.Atoi(r.FormValue("page")); err == nil && n > 0 && n < 4 {
		of.Page = n
	}
	if of.Page < 3 {
		of.Next = of.Page + 1
	}
	for i := (of.Page - 1) * 8; of.Q == "kettle" && i < of.Page*8; i++ {
		price := 20 + float64((i*13)%24)
		if i == 16 {
			price = 11.9
		}
		of.Items = append(of.Items, fmt.Sprintf("Kettle %d: %.2f", i+1, price))
	}
	showPage(w, "Search", of)
}

// registering is what the form of two steps shows.
type registering struct {
	Step               int
	Name, Phone, Error string
}

func (s *Shop) register(w http.ResponseWriter, r *http.Request) {
	of := registering{Step: 1, Name: strings.TrimSpace(r.FormValue("name")), Phone: r.FormValue("phone")}
	switch {
	case of.Name == "":
		of.Error = "Write your full name"
	case strings.Trim(of.Phone, "0123456789") != "" || of.Phone == "" || strings.Contains(of.Phone, " "):
		of.Error = "Write the phone number with digits only, without blanks"
	case r.FormValue("step") == "1":
		of.Step = 2
	default:
		s.mu.Lock()
		s.registered = append(s.registered, Registration{of.Name, of.Phone, r.FormValue("plan")})
		s.mu.Unlock()
		showPage(w, "Registered", of.Name)
		return
	}
	showPage(w, "Register", of)
}

func (s *Shop) order(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	order := map[string]int{}
	for name := range s.cart {
		if n, err := strconv.Atoi(r.FormValue(name)); err == nil && n > 0 {
			order[name] = n
		}
	}
	s.orders, s.cart = append(s.orders, order), nil
	showPage(w, "Thank you", fmt.Sprintf("N-%d", 2000+len(s.orders)))
}
