package actions

import (
	"context"
	"reflect"
)

// All is the repertoire, in the order of the names.
var All []Command

func init() {
	All = []Command{
		row("back", "Goes back in the tab's history.", "", Acts|Static, back),
		row("batch", "Runs several commands one after the other, with nothing of the session between them.", "commands", 0, batch).with(prepareBatch),
		row("cancel", "Ends a running or queued request of this connection.", "id", AtOnce|NoSession, cancel),
		row("check", "Checks or unchecks a checkbox, radio button or switch.", "ref", Acts|Static, check),
		row("click", "Clicks an element.", "ref", Acts|Static, click),
		row("confirm", "Answers, as an operator, what an agent may not do by itself.", "id", AtOnce|NoSession, confirm),
		row("console", "Lists what the session's pages wrote to the console.", "filter", AtOnce, console),
		row("cookies_clear", "Removes cookies of the session.", "urls", Static, cookiesClear),
		row("cookies_get", "Lists the cookies of the session.", "urls", Static, cookiesGet),
		row("cookies_set", "Sets cookies in the session.", "cookies", Static, cookiesSet),
		row("dialog", "Answers the open JavaScript dialog.", "accept", AtOnce|Acts, dialog),
		row("downloads", "Lists the session's downloads, or reads one.", "name", AtOnce, downloads),
		row("drag", "Drags an element onto another.", "ref", Acts, drag),
		row("emulate", "Changes the device, place and network that the session's pages see.", "device", 0, emulate),
		row("eval", "Evaluates JavaScript in the page.", "expression", 0, eval),
		row("fill", "Fills several fields, each in the way that works for it.", "fields", Acts|Static, fill),
		row("find", "Finds elements by text, role or name.", "text", Static, find),
		row("focus", "Gives an element the focus.", "ref", Acts, focus),
		row("forward", "Goes forward in the tab's history.", "", Acts|Static, forward),
		row("help", "Lists the commands, or one with its parameters.", "command", AtOnce|NoSession, help),
		row("hover", "Moves the mouse onto an element.", "ref", Acts, hover),
		row("http_request", "Sends one HTTP request and shows the answer; follows no redirect.", "url", Static|NoSession, httpRequest).with(prepareHTTPRequest),
		row("mouse", "Moves, presses or turns the mouse at a point of the viewport.", "action", Acts, mouse),
		row("network", "Lists the requests of the session's pages, or shows one with its headers and body.", "filter", AtOnce, networkEntries),
		row("open", "Opens a URL and shows the page.", "url", Acts|Static, open),
		row("pdf", "Prints the page to PDF.", "options", 0, pdf),
		row("ping", "Answers at once.", "", AtOnce|NoSession, ping),
		row("press", "Presses a key or a combination of keys.", "key", Acts, press),
		row("read", "Reads the text, Markdown, HTML, value or attributes of an element or of the page.", "ref", Static, read),
		row("reload", "Loads the page again.", "", Acts|Static, reload),
		row("route", "Blocks or answers requests of the session's pages by address and kind.", "pattern", 0, route),
		row("screenshot", "Pictures what is in view, an element, or the whole page.", "ref", 0, screenshot),
		row("scroll", "Brings an element into view, or scrolls.", "ref", Acts, scroll),
		row("select", "Chooses options of a select.", "ref", Acts|Static, selectOptions),
		row("session_close", "Closes a session and its pages.", "session", AtOnce, sessionClose),
		row("session_list", "Lists your sessions.", "", AtOnce|NoSession, sessionList),
		row("session_open", "Opens a session.", "name", 0, sessionOpen).with(prepareSessionOpen),
		row("snapshot", "Shows the page: controls with refs, and its text.", "scope", Static, takeSnapshot),
		row("state_load", "Puts a saved state (cookies and local storage) into the session.", "name", Static, stateLoad),
		row("state_save", "Saves the session's cookies and local storage under a name.", "name", Static, stateSave),
		row("status", "Says how the daemon and your sessions are.", "", AtOnce|NoSession, status),
		row("subscribe", "Chooses the events that this connection gets.", "events", AtOnce|NoSession, subscribe),
		row("tab_close", "Closes a tab.", "tab", Acts, tabClose),
		row("tab_list", "Lists the session's tabs.", "", AtOnce, tabList),
		row("tab_new", "Opens a tab and selects it.", "url", Acts, tabNew),
		row("tab_select", "Selects the tab that commands go to.", "tab", Acts, tabSelect),
		row("type", "Writes text into a control.", "ref", Acts|Static, typeText),
		row("upload", "Gives files to a file input.", "ref", Acts|Static, upload),
		row("wait", "Waits for an element, text, URL, state or expression.", "text", Static, wait),
		row("web_fetch", "Fetches a page and shows what is to be read on it.", "url", Static|NoSession, webFetch).with(alone),
		row("web_search", "Searches the web.", "query", Static|NoSession, webSearch).with(alone),
	}
}

// Marks of a row.
type mark int

// What a row is marked with, as PROTOCOL.md section 6 means it.
const (
	AtOnce mark = 1 << iota
	Acts
	Static
	NoSession
)

// row makes a Command of a func of its parameters.
func row[P, R any](name, summary, main string, m mark, run func(context.Context, *Call, *P) (R, error)) Command {
	return Command{
		Name: name, Summary: summary, Main: main,
		AtOnce: m&AtOnce != 0, Acts: m&Acts != 0, Static: m&Static != 0, NoSession: m&NoSession != 0,
		params: reflect.TypeFor[P](),
		run: func(ctx context.Context, c *Call) (any, error) {
			return run(ctx, c, c.Params.(*P))
		},
	}
}

// with gives the row something to do while the command is read.
func (cmd Command) with(prepare func(c *Call) error) Command {
	cmd.prepare = prepare
	return cmd
}
