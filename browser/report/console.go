package report

import (
	"encoding/json"
	"strings"
)

// ConsoleMessage is one message that a page, or Chromium about it, wrote to the console.
type ConsoleMessage struct {
	Kind, Text, URL string
	Line            int  // counts from 1; 0: unknown
	Error           bool // it is reported as a console error
}

// Value is a JavaScript value (Runtime.RemoteObject).
type Value struct {
	Type        string          `json:"type"`
	Value       json.RawMessage `json:"value"`
	Description string          `json:"description"`
}

// Text returns the value as the console shows it.
func (v Value) Text() string {
	var s string
	if v.Type == "string" && json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	if v.Description != "" {
		return v.Description
	}
	return string(v.Value)
}

// Exception is what a script in a page threw (Runtime.ExceptionDetails).
type Exception struct {
	Text       string `json:"text"`
	URL        string `json:"url"`
	LineNumber int    `json:"lineNumber"`
	Exception  struct {
		Description string          `json:"description"`
		Value       json.RawMessage `json:"value"`
		ObjectID    string          `json:"objectId"`
	} `json:"exception"`
}

// Description returns the exception as the console shows it.
func (e *Exception) Description() string {
	switch {
	case e.Exception.Description != "":
		return e.Exception.Description
	case len(e.Exception.Value) > 0:
		return e.Text + " " + string(e.Exception.Value)
	}
	return e.Text
}

// ObjectID returns the id of the object that was thrown, which Chromium holds; empty where there is none.
func (e *Exception) ObjectID() string {
	if e == nil {
		return ""
	}
	return e.Exception.ObjectID
}

// ConsoleCalled is the event Runtime.consoleAPICalled.
type ConsoleCalled struct {
	Type string  `json:"type"`
	Args []Value `json:"args"`
	// StackTrace is where the page called the console.
	StackTrace struct {
		CallFrames []struct {
			URL        string `json:"url"`
			LineNumber int    `json:"lineNumber"`
		} `json:"callFrames"`
	} `json:"stackTrace"`
}

// Message returns what the page wrote.
func (e ConsoleCalled) Message() ConsoleMessage {
	texts := make([]string, 0, len(e.Args))
	for _, a := range e.Args {
		texts = append(texts, a.Text())
	}
	w := ConsoleMessage{Kind: e.Type, Text: strings.Join(texts, " "), Error: e.Type == "error" || e.Type == "assert"}
	if at := e.StackTrace.CallFrames; len(at) > 0 {
		w.URL, w.Line = at[0].URL, at[0].LineNumber+1
	}
	return w
}

// ExceptionThrown is the event Runtime.exceptionThrown: nothing in the page caught it.
type ExceptionThrown struct {
	ExceptionDetails Exception `json:"exceptionDetails"`
}

// Message returns the exception.
func (e ExceptionThrown) Message() ConsoleMessage {
	d := &e.ExceptionDetails
	return ConsoleMessage{Kind: "exception", Text: d.Description(), URL: d.URL, Line: d.LineNumber + 1, Error: true}
}

// EntryAdded is the event Log.entryAdded: what Chromium itself logs about a page, such as
// content security policies, mixed content and CORS.
type EntryAdded struct {
	Entry struct {
		Source string `json:"source"`
		Level  string `json:"level"`
		Text   string `json:"text"`
		URL    string `json:"url"`
		Line   *int   `json:"lineNumber"`
	} `json:"entry"`
}

// Message returns the entry, or a message without a kind if it is not kept: entries about
// failed requests are left out, since the requests are reported themselves.
func (e EntryAdded) Message() ConsoleMessage {
	at := e.Entry
	if at.Source == "network" || at.Level != "error" && at.Level != "warning" {
		return ConsoleMessage{}
	}
	w := ConsoleMessage{Kind: at.Level, Text: at.Text, URL: at.URL, Error: at.Level == "error"}
	if at.Line != nil {
		w.Line = *at.Line + 1
	}
	return w
}
