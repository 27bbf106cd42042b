package command

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/browserd/browserd/protocol"
)

// HelpResult is the answer of help.
type HelpResult struct {
	Commands []CommandHelp `json:"commands"`
}

// CommandHelp describes one command.
type CommandHelp struct {
	Command    string      `json:"command"`
	Summary    string      `json:"summary"`
	Main       string      `json:"main,omitempty"`
	Unqueued   bool        `json:"at_once,omitempty"`
	Acts       bool        `json:"acts,omitempty"`
	Static     bool        `json:"static,omitempty"`
	Parameters []ParamHelp `json:"parameters,omitempty"`
}

// ParamHelp describes one parameter.
type ParamHelp struct {
	Name     string `json:"name"`
	Takes    string `json:"takes"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	Doc      string `json:"doc"`
}

// Help describes one command with its parameters, or with "" all of them without.
func (r Repertoire) Help(name string) (HelpResult, error) {
	if name == "" {
		all := HelpResult{}
		for _, cmd := range r {
			all.Commands = append(all.Commands, cmd.line())
		}
		return all, nil
	}
	cmd, ok := r.Lookup(name)
	if !ok {
		return HelpResult{}, protocol.Errorf(protocol.InvalidParams, "command: there is no command %q", protocol.Cut(name, 60)).
			With("parameter", "command").With("nearest", r.nearest(name))
	}
	return HelpResult{[]CommandHelp{cmd.Help()}}, nil
}

// line describes the command without its parameters.
func (cmd *Command) line() CommandHelp {
	return CommandHelp{Command: cmd.Name, Summary: cmd.Summary, Main: cmd.Main, Unqueued: cmd.atOnce(), Acts: cmd.Is(Acts), Static: cmd.Is(Static)}
}

// atOnce reports whether the command does not queue as long as no parameter makes it.
func (cmd *Command) atOnce() bool {
	return cmd.Is(Unqueued) && (cmd.Queues == nil || !cmd.Queues(reflect.New(cmd.params).Interface()))
}

// Help describes the command with its parameters, those that all commands
// take included.
func (cmd *Command) Help() CommandHelp {
	h := cmd.line()
	fields := append(fieldsOf(reflect.New(cmd.params).Elem()), fieldsOf(reflect.New(reflect.TypeFor[Common]()).Elem())...)
	for _, f := range fields {
		p := ParamHelp{Name: f.name, Takes: f.takes(), Default: f.tag.Get("default"), Doc: f.tag.Get("doc")}
		p.Required, _ = strconv.ParseBool(f.tag.Get("required"))
		h.Parameters = append(h.Parameters, p)
	}
	return h
}

// Positionals returns the parameters that need no name on the command line, in their
// order: the main one, then the others that are required.
func (h CommandHelp) Positionals() []ParamHelp {
	var list []ParamHelp
	for _, p := range h.Parameters {
		if p.Name == h.Main {
			list = slices.Insert(list, 0, p)
		} else if p.Required {
			list = append(list, p)
		}
	}
	return list
}
