package script

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write js/functions.d.ts")

// TestDeclarations holds js/functions.d.ts, by which tsc checks the modules, to the types
// of functions.go.
func TestDeclarations(t *testing.T) {
	const file = "js/functions.d.ts"
	want := declarations()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s is stale: run go generate ./browser/script\n%s", file, diff)
	}
}

// The script is ASCII: V8 keeps one in two bytes a character where one of them is not
// Latin-1.
func TestSourceIsASCII(t *testing.T) {
	for i, c := range []byte(Source) {
		if c >= 0x80 {
			t.Fatalf("not ASCII at %d: %q", i, Source[max(0, i-20):i+1])
		}
	}
}

func TestCall(t *testing.T) {
	for _, c := range []struct {
		got  Call
		want string
	}{
		{EndHitTest.Call(None{}), "__bd.now().endHitTest()"},
		{HasText.Call("it's \"here\"\u2028"), `__bd.now().hasText("it's \"here\"\u2028")`},
		{Boxes.Call(BoxesArgs{Nodes: []int{1, 2}}), `__bd.now().boxes({"nodes":[1,2],"view":false})`},
		{Find.Unless(PendingListeners.Call(None{}), Query{Limit: 1}), `__bd.now().pendingListeners() || __bd.find({"text":"","role":"","name":"","limit":1,"attrs":null})`},
		{HitResult.Call(HitResultArgs{ElementCall: Checked.With(None{})}), `__bd.now().hitResult({"then":"checked","with":{},"settle":false,"shown":false})`},
	} {
		if c.got.Expression != c.want || c.got.Err != nil {
			t.Errorf("got %s, %v; want %s", c.got.Expression, c.got.Err, c.want)
		}
	}
	if !HitResult.Call(HitResultArgs{}).Promise || EndHitTest.Call(None{}).Promise {
		t.Error("a promise is awaited where there is one, and only there")
	}
	if c := Prepare.With(TypeArgs{}); c.Then != "prepare" {
		t.Errorf("got %+v", c)
	}
	if c := HitAtPoint.Call(Point{X: nan()}); c.Err == nil {
		t.Error("what is no JSON is an error")
	}
}

func nan() float64 { var zero float64; return zero / zero }

// declarations writes the types of all declared functions as TypeScript.
func declarations() string {
	d := typeWriter{named: map[string]string{}}
	var functions, elements []string
	for _, f := range declared {
		line := "  " + f.name + "(" + d.parameter(f) + "): " + d.result(f) + ";"
		if f.element {
			elements = append(elements, line)
		} else {
			functions = append(functions, line)
		}
	}
	sort.Strings(functions)
	sort.Strings(elements)
	var names []string
	for name := range d.named {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteString("// Written by go generate ./browser/script, from functions.go.\n\n")
	b.WriteString("export interface Functions {\n  now(): Functions;\n" + strings.Join(functions, "\n") + "\n}\n\n")
	b.WriteString("// What is called with an element that another function has at hand.\nexport interface ElementFunctions {\n" + strings.Join(elements, "\n") + "\n}\n")
	for _, name := range names {
		b.WriteString("\nexport interface " + name + " {\n" + d.named[name] + "}\n")
	}
	return b.String()
}

type typeWriter struct{ named map[string]string }

func (d typeWriter) parameter(f declaration) string {
	switch {
	case f.method:
		return "...nodes: any[]"
	case f.element && f.args == reflect.TypeFor[None]():
		return "el: any"
	case f.element:
		return "el: any, args: " + d.name(f.args)
	case f.args == reflect.TypeFor[None]():
		return ""
	}
	return "args: " + d.name(f.args)
}

func (d typeWriter) result(f declaration) string {
	result := "void"
	if !f.method && f.result != reflect.TypeFor[None]() {
		result = d.name(f.result)
	}
	if f.promise {
		return "Promise<" + result + ">"
	}
	return result
}

// name returns the TypeScript of a type.
func (d typeWriter) name(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Object](), t == reflect.TypeFor[json.RawMessage]():
		return "any"
	case t == reflect.TypeFor[ScopeFailure]():
		return fmt.Sprintf("%q | %q | %q | %q | %q", ScopeGone, ScopeNone, ScopeSelector, ScopePast, ScopeAfter)
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number"
	case reflect.Interface:
		return "any"
	case reflect.Pointer:
		return d.name(t.Elem()) + " | null"
	case reflect.Slice:
		if of := d.name(t.Elem()); strings.Contains(of, " ") {
			return "(" + of + ")[]"
		} else {
			return of + "[]"
		}
	case reflect.Array:
		return "[" + strings.TrimSuffix(strings.Repeat(d.name(t.Elem())+", ", t.Len()), ", ") + "]"
	case reflect.Struct:
		if _, known := d.named[t.Name()]; !known {
			d.named[t.Name()] = ""
			d.named[t.Name()] = d.fields(t)
		}
		return t.Name()
	}
	panic("no TypeScript for " + t.String())
}

func (d typeWriter) fields(t reflect.Type) string {
	var b strings.Builder
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			b.WriteString(d.fields(f.Type))
			continue
		case name == "-":
			continue
		case options != "":
			name += "?"
		}
		b.WriteString("  " + name + ": " + d.name(f.Type) + ";\n")
	}
	return b.String()
}
