package browser

import (
	"sync"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/script"
)

// inject is the parameters of Page.addScriptToEvaluateOnNewDocument, encoded
// once: they are sent for every page and every out-of-process frame.
var inject = sync.OnceValue(func() jsonv2.Value { return injection(script.Source) })

// injection has the source run in every document to come, and in the one that
// is there.
func injection(source string) jsonv2.Value {
	b, err := jsonv2.Marshal(page.AddScriptToEvaluateOnNewDocumentParams{
		Source: source, WorldName: world, RunImmediately: ptr(true),
	})
	if err != nil {
		panic(err) // the parameters cannot be encoded: a mistake of the build
	}
	return b
}
