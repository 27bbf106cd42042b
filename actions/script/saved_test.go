package script

import (
	"encoding/json"
	"testing"
)

// An address is recorded with the keys of what came from the input, and is the same page when the
// input has other values.
func TestPagesOfInputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		input, url, recorded string
		now, page            string
		same                 bool
	}{
		{`{}`, "https://a.example/x?q=1#top", "https://a.example/x", `{}`, "https://a.example/x?q=2", true},
		{`{}`, "https://a.example", "https://a.example", `{}`, "https://a.example/", true},
		{`{}`, "https://a.example/x", "https://a.example/x", `{}`, "https://b.example/x", false},
		{`{}`, "https://a.example/#/cart?x=1", "https://a.example/#/cart", `{}`, "https://a.example/#/pay", false},
		{`{"n":7}`, "https://a.example/orders/7/edit", "https://a.example/orders/{input.n}/edit", `{"n":8}`, "https://a.example/orders/8/edit", true},
		{`{"n":7}`, "https://a.example/orders/7/edit", "https://a.example/orders/{input.n}/edit", `{"n":8}`, "https://a.example/orders/88/edit", false},
		{`{"n":7}`, "https://a.example/orders/7/edit", "https://a.example/orders/{input.n}/edit", `{"n":8}`, "https://a.example/orders/8/delete", false},
		{`{"n":7}`, "https://a.example/77", "https://a.example/77", `{"n":8}`, "https://a.example/88", false},
		{`{"q":"a b"}`, "https://a.example/a%20b", "https://a.example/{input.q}", `{"q":"c d"}`, "https://a.example/c%20d", true},
		{`{"url":"https://a.example/shop/"}`, "https://a.example/shop/x", "{input.url}/x", `{"url":"https://b.example"}`, "https://b.example/x", true},
		{`{"url":"https://a.example","p":{"id":"x"}}`, "https://a.example/x", "{input.url}/{input.p.id}", `{"url":"https://b.example","p":{"id":"y"}}`, "https://b.example/y", true},
		{`{"url":"https://a.example"}`, "https://a.example.evil/x", "https://a.example.evil/x", `{"url":"https://b.example"}`, "https://b.example/x", false},
		{`{"ids":[1,2]}`, "https://a.example/2", "https://a.example/{input.ids}", `{"ids":[3,4,5]}`, "https://a.example/5", true},
	} {
		got := inputsOf(json.RawMessage(c.input)).page(Address(c.url))
		if got != c.recorded {
			t.Errorf("%s %s is recorded as %s, want %s", c.input, c.url, got, c.recorded)
		}
		if same := inputsOf(json.RawMessage(c.now)).onPage(got, Address(c.page)); same != c.same {
			t.Errorf("%s with %s on %s: %t", got, c.now, c.page, same)
		}
	}
}

// A name that contains a value of the input as whole words is recorded with that value's key.
func TestNamesOfInputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		input, name string
		now, is     string
		same        bool
	}{
		{`{}`, "Send", `{}`, "Send", true},
		{`{}`, "Send", `{}`, "Send all", false},
		{`{"x":"milk"}`, "Milk, 12 kr", `{"x":"Bread"}`, "Bread, 30 kr", true},
		{`{"x":"milk"}`, "Milk, 12 kr", `{"x":"Bread"}`, "Milk, 12 kr", false},
		{`{"x":"Ann"}`, "Announcements", `{"x":"Bo"}`, "Announcements", true},
		{`{"x":"Ann"}`, "Announcements", `{"x":"Bo"}`, "Bo", false},
		{`{"x":"价格"}`, "查看价格", `{"x":"名称"}`, "查看名称", true},
		{`{"x":["a","b"]}`, "Item b", `{"x":["c"]}`, "Item c", true},
		{`{"x":"milk"}`, "Milk", `{}`, "anything", true},
	} {
		was := inputsOf(json.RawMessage(c.input)).element(NewElement("link", c.name))
		in := inputsOf(json.RawMessage(c.now))
		if got := in.matches(was, NewElement("link", c.is)); got != c.same {
			t.Errorf("%s %q is recorded as %v; with %s %q: %t", c.input, c.name, was, c.now, c.is, got)
		}
		if in.matches(was, NewElement("button", c.is)) {
			t.Errorf("%v is a button", was)
		}
	}
}
