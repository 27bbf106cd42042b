package readable

import (
	"net/url"
	"testing"
)

func TestOneElementIsReadWhole(t *testing.T) {
	base, _ := url.Parse("https://shop.example/list")
	for source, want := range map[string]string{
		`<nav><a href="/a">All</a> <a href=/b>Best</a></nav>`:                    "[All](https://shop.example/a) [Best](https://shop.example/b)",
		`<footer>Imprint<script>no</script><p hidden>no</footer>`:                "Imprint",
		`<tr><td>Gold<td>2400</tr>`:                                              "| Gold | 2400 |\n|---|---|",
		`<td>Gold <b>now</b></td>`:                                               "| Gold **now** |\n|---|",
		`<li>One <em>thing</em></li>`:                                            "One *thing*",
		`<h2>Head</h2>`:                                                          "## Head",
		`<div><header>Top</header><article>One article.</article>And more</div>`: "Top\n\nOne article.\n\nAnd more",
	} {
		if got := Fragment(t.Context(), source, base).Markdown(t.Context()); got != want {
			t.Errorf("%s:\n%q\nwant\n%q", source, got, want)
		}
	}
}
