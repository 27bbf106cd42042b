package targets

import (
	"sync"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webmcp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/throttle"
)

// World is the name of the isolated world in which the page scripts run.
const World = "browserd"

// Inject are the parameters of Page.addScriptToEvaluateOnNewDocument for the page script,
// which then runs in the current document and every later one. They are encoded once, since
// they are sent for every page and every out-of-process frame.
var Inject = sync.OnceValue(func() jsonv2.Value { return Injection(script.Source) })

// Injection is like Inject, with another script.
func Injection(source string) jsonv2.Value {
	now := true
	return cdp.Encode(page.AddScriptToEvaluateOnNewDocumentParams{Source: source, WorldName: World, RunImmediately: &now})
}

// Attach enables the CDP domains that browserd listens to, for a page or an out-of-process
// frame, and injects the page script.
func Attach(s *cdp.Session) []*cdp.Pending {
	s.Send(webmcp.Enable.Method, cdproto.Empty{}) // an older Chromium refuses it
	return []*cdp.Pending{
		s.Send("Page.enable", cdproto.Empty{}),
		s.Send(page.SetLifecycleEventsEnabled.Method, page.SetLifecycleEventsEnabledParams{Enabled: true}),
		s.Send("Inspector.enable", cdproto.Empty{}),
		throttle.Enable(s, "Network"),
		s.Send("DOM.enable", cdproto.Empty{}),
		s.Send("Runtime.enable", cdproto.Empty{}),
		s.Send("Log.enable", cdproto.Empty{}),
		s.Send(runtime.AddBinding.Method, runtime.AddBindingParams{Name: script.Late, ExecutionContextName: World}),
		s.Send(runtime.AddBinding.Method, runtime.AddBindingParams{Name: script.Reached, ExecutionContextName: World}),
		s.Send(runtime.AddBinding.Method, runtime.AddBindingParams{Name: script.Asks, ExecutionContextName: World}),
		s.Send(page.AddScriptToEvaluateOnNewDocument.Method, Inject()),
		AutoAttach(s),
	}
}
