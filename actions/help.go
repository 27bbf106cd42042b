package actions

import (
	"context"
	"reflect"
	"strconv"

	"github.com/browserd/browserd/protocol"
)

// HelpParams are the parameters of help.
type HelpParams struct {
	Command string `json:"command" doc:"one command, with its parameters; left out: a line for each"`
}

// HelpResult is the answer of help.
type HelpResult struct {
	Commands []CommandHelp `json:"commands"`
}

// CommandHelp describes one command.
type CommandHelp struct {
	Command    string      `json:"command"`
	Summary    string      `json:"summary"`
	Main       string      `json:"main,omitempty"`
	AtOnce     bool        `json:"at_once,omitempty"`
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

func help(ctx context.Context, c *Call, p *HelpParams) (HelpResult, error) { return HelpOn(p.Command) }

// HelpOn is what the command help answers about a command, or with "" about all of them.
func HelpOn(name string) (HelpResult, error) {
	if name == "" {
		r := HelpResult{}
		for i := range All {
			h := All[i].Help()
			h.Parameters = nil
			r.Commands = append(r.Commands, h)
		}
		return r, nil
	}
	cmd, ok := Lookup(name)
	if !ok {
		return HelpResult{}, protocol.Errorf(protocol.InvalidParams, "command: there is no command %q", cut(name, 60)).
			With("parameter", "command").With("nearest", nearest(name))
	}
	return HelpResult{[]CommandHelp{cmd.Help()}}, nil
}

// Help describes the command with its parameters, those that all commands
// take included.
func (cmd *Command) Help() CommandHelp {
	h := CommandHelp{Command: cmd.Name, Summary: cmd.Summary, Main: cmd.Main, AtOnce: cmd.AtOnce, Acts: cmd.Acts, Static: cmd.Static}
	fields := append(fieldsOf(reflect.New(cmd.params).Elem()), fieldsOf(reflect.New(reflect.TypeFor[Common]()).Elem())...)
	for _, f := range fields {
		p := ParamHelp{Name: f.name, Takes: f.takes(), Default: f.tag.Get("default"), Doc: f.tag.Get("doc")}
		p.Required, _ = strconv.ParseBool(f.tag.Get("required"))
		h.Parameters = append(h.Parameters, p)
	}
	return h
}
