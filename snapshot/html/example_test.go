package html_test

import (
	"fmt"
	"log"

	"github.com/browserd/browserd/snapshot/html"
)

const shop = `<!doctype html><title>Tea</title>
<nav><a href="/">Home</a></nav>
<main>
  <h1>Green tea</h1>
  <p>Picked in <b>May</b>.</p>
  <form action="/cart">
    <label>Amount <input name="n" type="number" value="1"></label>
    <label>Card code <input name="cvc" value="123"></label>
    <button>Buy</button>
  </form>
</main>`

// The zero Options give what a session shows without parameters.
func ExampleSnapshot() {
	page, err := html.Snapshot(shop, html.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Text)
	// Output:
	// [snapshot] url="about:blank" title="Tea"
	// @e1 [navigation]
	//   @e2 [link href="/"] "Home"
	// @e3 [main]
	//   @e4 [heading level=1] "Green tea"
	//   text "Picked in May."
	//   @e5 [spinbutton name="n" value="1"] "Amount"
	//   @e6 [textbox name="cvc" value="•••"] "Card code"
	//   @e7 [button] "Buy"
}

func ExampleSnapshot_options() {
	page, err := html.Snapshot(shop, html.Options{URL: "https://tea.example/green", Scope: "main", AllElements: true, MaxNodes: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Text)
	// Output:
	// [snapshot] reasons=max_nodes url="https://tea.example/green" title="Tea"
	// @e1 [main]
	//   @e2 [heading level=1] "Green tea"
	//   @e3 [paragraph]
	//     text "Picked in May."
	// [more] 4 nodes not shown; continue with after=@e3
}

func ExamplePage_Query() {
	page, err := html.Snapshot(shop, html.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, kind := range []string{"text", "attr", "html"} {
		content, err := page.Query("@e2", kind, 100)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(content)
	}
	whole, err := page.Query("", "text", 20)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(whole)
	// Output:
	// Home
	// {"href":"/"}
	// <a href="/">Home</a>
	// Home
	//
	// Green tea
	//
	// Pi…
}

// A snapshot that a budget ended goes on after its last ref.
func ExamplePage_More() {
	page, err := html.Snapshot(shop, html.Options{MaxNodes: 4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Text)
	more, err := page.More(html.Options{After: page.Stats.After})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(more.Text)
	// Output:
	// [snapshot] reasons=max_nodes url="about:blank" title="Tea"
	// @e1 [navigation]
	//   @e2 [link href="/"] "Home"
	// @e3 [main]
	//   @e4 [heading level=1] "Green tea"
	//   text "Picked in May."
	// [more] 3 nodes not shown; continue with after=@e4
	// [snapshot] url="about:blank" title="Tea"
	//   text "Picked in May."
	//   @e5 [spinbutton name="n" value="1"] "Amount"
	//   @e6 [textbox name="cvc" value="•••"] "Card code"
	//   @e7 [button] "Buy"
}
