package script

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// None is the argument of a function that takes nothing, and the result of one whose
// answer says nothing.
type None struct{}

// Func is a function of the script that takes an Args and answers a Result.
type Func[Args, Result any] struct {
	name    string
	promise bool
}

// declared are the functions of the script, for js/functions.d.ts.
var declared []declaration

type declaration struct {
	name         string
	args, result reflect.Type
	promise      bool
	method       bool // it takes nodes: its TypeScript is written by hand
	element      bool // it takes an element that another function has at hand
}

// function declares a function of the script.
func function[Args, Result any](name string) Func[Args, Result] {
	declared = append(declared, declaration{name: name, args: reflect.TypeFor[Args](), result: reflect.TypeFor[Result]()})
	return Func[Args, Result]{name: name}
}

// promised declares a function that answers with a promise. To await an answer that is
// none costs V8 a promise, its callbacks and a microtask.
func promised[Args, Result any](name string) Func[Args, Result] {
	f := function[Args, Result](name)
	declared[len(declared)-1].promise = true
	f.promise = true
	return f
}

// Call is a call of a function, to be evaluated in the isolated world of a document.
type Call struct {
	Function   string // its name, for errors
	Expression string
	Promise    bool // the expression is a promise, to be awaited
	Err        error

	call string // "NAME(ARGUMENT)"
}

// Call returns the call of f with args. Its Err tells where they are no JSON.
func (f Func[Args, Result]) Call(args Args) Call {
	text, err := encode(args)
	if err != nil {
		err = fmt.Errorf("encoding the argument of %s: %w", f.name, err)
	}
	call := f.name + "(" + text + ")"
	return Call{Function: f.name, Expression: global + ".now()." + call, Promise: f.promise, Err: err, call: call}
}

// Unless returns the call of f with args, which is made only where first answers
// something false: the answer is otherwise that of first.
func (f Func[Args, Result]) Unless(first Call, args Args) Call {
	c := f.Call(args)
	c.Expression = first.Expression + " || " + global + "." + c.call
	if c.Err == nil {
		c.Err = first.Err
	}
	return c
}

func encode(args any) (string, error) {
	if _, none := args.(None); none {
		return "", nil
	}
	text, err := json.Marshal(args)
	return string(text), err
}

// ElementFunc is a function that the script calls with an element which another function
// has at hand, in the same round trip: the one that Locate has found, or that HitResult
// has watched.
type ElementFunc[Args, Result any] struct{ name string }

func elementFunction[Args, Result any](name string) ElementFunc[Args, Result] {
	declared = append(declared, declaration{name: name, args: reflect.TypeFor[Args](), result: reflect.TypeFor[Result](), element: true})
	return ElementFunc[Args, Result]{name}
}

// ElementCall is a call of such a function; the zero value: none is called.
type ElementCall struct {
	Then string `json:"then,omitempty"`
	With any    `json:"with,omitempty"`
}

// With returns the call of f with args.
func (f ElementFunc[Args, Result]) With(args Args) ElementCall { return ElementCall{f.name, args} }

// Result reads what f has answered.
func (f ElementFunc[Args, Result]) Result(answer json.RawMessage) (Result, error) {
	var result Result
	if err := json.Unmarshal(answer, &result); err != nil {
		return result, fmt.Errorf("decoding the answer of script %s: %w", f.name, err)
	}
	return result, nil
}

// Method is a function that takes remote objects (Runtime.callFunctionOn).
type Method struct{ name string }

func method(name string) Method {
	declared = append(declared, declaration{name: name, method: true})
	return Method{name}
}

// OnObject declares a function that calls m with the object that it is called on, and
// then with its arguments.
func (m Method) OnObject() string {
	return "function(...rest){return " + global + "." + m.name + "(this,...rest)}"
}

// OnArguments declares a function that calls m with its arguments.
func (m Method) OnArguments() string {
	return "function(...args){return " + global + "." + m.name + "(...args)}"
}
