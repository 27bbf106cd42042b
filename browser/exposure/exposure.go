// Package exposure reads all that JavaScript of an origin could read in a browser context: its documents, their
// fields and storage, and the histories of the tabs. It decides nothing about it, and keeps none of it.
package exposure

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/history"
)

// Reading is the questions that were sent for one origin and not waited for yet. Only one goroutine uses it.
type Reading struct {
	Origin    string
	documents []asked
	histories []*cdp.Pending
}

type asked struct {
	*cdp.Pending
	surely bool // the document has the origin
}

// Document asks a document, by the uniqueId of its isolated world; empty: there is none yet. origin is what Chromium says of the document,
// which for an opaque one, or before it is known, is nothing that tells documents apart.
func (r *Reading) Document(s *cdp.Session, isolatedWorld, origin string) {
	if isolatedWorld == "" || strings.HasPrefix(origin, "http") && origin != r.Origin {
		return
	}
	byValue := true
	r.documents = append(r.documents, asked{s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
		Expression: fmt.Sprintf(expression, strconv.Quote(r.Origin)), UniqueContextID: isolatedWorld, ReturnByValue: &byValue,
	}), origin == r.Origin})
}

// History asks a tab for its history.
func (r *Reading) History(s *cdp.Session) {
	r.histories = append(r.histories, s.Send("Page.getNavigationHistory", cdproto.Empty{}))
}

// Text waits for the answers. whole is false if a document of the origin, or a tab, did not answer.
func (r *Reading) Text(ctx context.Context) (text string, whole bool) {
	var all strings.Builder
	whole = true
	for _, p := range r.documents {
		var got struct {
			Result struct {
				Value string `json:"value"`
			} `json:"result"`
			ExceptionDetails *struct{} `json:"exceptionDetails"`
		}
		if err := p.Wait(ctx, &got); (err != nil || got.ExceptionDetails != nil) && p.surely {
			whole = false
		}
		all.WriteString(got.Result.Value + "\n")
	}
	for _, p := range r.histories {
		var got history.Entries
		if p.Wait(ctx, &got) != nil {
			whole = false
		}
		for _, e := range got.Entries {
			if u, err := url.Parse(e.URL); err == nil && u.Scheme+"://"+u.Host == r.Origin {
				all.WriteString(e.URL + "\n" + e.Title + "\n")
			}
		}
	}
	return all.String(), whole
}

// expression returns all that a document of the origin says to a script, and nothing in one of another origin.
// A sandboxed document has no storage, and throws.
const expression = `(() => {
	if (origin !== %s) return '';
	const all = [location.href, document.referrer, document.title, name];
	const add = read => { try { all.push(...read()); } catch {} };
	add(() => [document.cookie, JSON.stringify(history.state)]);
	add(() => Object.entries(localStorage).flat());
	add(() => Object.entries(sessionStorage).flat());
	add(() => navigation.entries().flatMap(e => [e.url, JSON.stringify(e.getState())]));
	add(() => performance.getEntries().map(e => e.name));
	const read = root => {
		all.push(root.textContent, root.innerHTML);
		for (const el of root.querySelectorAll('*')) {
			if (typeof el.value === 'string') all.push(el.value);
			if (el.shadowRoot) read(el.shadowRoot);
		}
	};
	if (document.documentElement) add(() => { read(document.documentElement); return []; });
	return all.join('\n');
})()`
