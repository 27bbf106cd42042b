// Package actions is the repertoire: one file for each command, and this list. A
// command's file has its row, which says everything about it, its parameters, its
// result and its func. To add a command, add its file and its line here; every
// transport, the help, the schema, the docs and the audit trail follow from the row.
//
// What a command is lies in package command. The package never talks CDP, never reads
// configuration, and never knows which transport a command came through.
package actions

import "github.com/browserd/browserd/actions/command"

// All is the repertoire, in the order of the names.
var All = command.Repertoire{
	Back,
	Batch,
	Cancel,
	Check,
	Click,
	Confirm,
	Console,
	CookiesClear,
	CookiesGet,
	CookiesSet,
	Dialog,
	Downloads,
	Drag,
	Emulate,
	Eval,
	Fill,
	Find,
	Focus,
	Forward,
	Help,
	Hover,
	HTTPRequest,
	InitScript,
	Mouse,
	Network,
	Open,
	PDF,
	Ping,
	Press,
	Read,
	Reload,
	Route,
	Run,
	Screenshot,
	Scroll,
	Select,
	SessionClose,
	SessionList,
	SessionOpen,
	Snapshot,
	StateDelete,
	StateList,
	StateLoad,
	StateSave,
	Status,
	Subscribe,
	TabClose,
	TabList,
	TabNew,
	TabSelect,
	Type,
	Upload,
	Wait,
	WebFetch,
	WebSearch,
}
