package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

func button(doc, node int, name string) Node {
	return Node{Key: Key{doc, node}, Role: "button", Name: name, Tag: "button", Ident: "i" + name, Context: "c" + name}
}

func TestRefsNumber(t *testing.T) {
	r := NewRefs()
	if n := r.Number(Node{Role: RoleText, Name: "no key"}); n != 0 {
		t.Errorf("a text got @e%d", n)
	}
	a, b := r.Number(button(1, 7, "Save")), r.Number(button(2, 7, "Open"))
	if a != 1 || b != 2 {
		t.Fatalf("got @e%d and @e%d, want 1 and 2", a, b)
	}
	if n := r.Number(button(1, 7, "Delete")); n != 1 {
		t.Errorf("the same node got @e%d", n)
	}
	want := Entry{N: 1, Key: Key{1, 7}, Role: "button", Name: "Delete", Tag: "button", Ident: "iDelete", Context: "cDelete"}
	for _, ref := range []string{"@e1", "e1", "ref=e1", "ref=@e1"} {
		got, err := r.Lookup(ref)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Lookup(%q): got before want\n%s", ref, diff)
		}
		if got.Ref() != "@e1" {
			t.Errorf("Ref() = %s", got.Ref())
		}
	}
	if n, ok := r.Seen(Key{2, 7}); n != 2 || !ok {
		t.Errorf("Seen = %d, %v", n, ok)
	}
	for _, key := range []Key{{2, 8}, {3, 7}, {}} {
		if n, ok := r.Seen(key); ok {
			t.Errorf("Seen(%v) = %d", key, n)
		}
	}
}

func TestRefsLookupErrors(t *testing.T) {
	r := NewRefs()
	r.Number(button(1, 1, "Save \"now\"\n@e2 [button]"))
	r.Number(button(2, 1, ""))
	r.Forget(1)
	for _, test := range []struct {
		ref     string
		code    protocol.Code
		message string
	}{
		{"@e1", protocol.StaleRef, `@e1 is gone: it was button "Save \"now\"\n@e2 [button]"`},
		{"@e3", protocol.UnknownRef, "@e3 was never given out in this session"},
		{"e0", protocol.UnknownRef, "@e0 was never given out in this session"},
		{"@e99999999999999999999", protocol.UnknownRef, "@e99999999999999999999 was never given out in this session"},
		{"", protocol.InvalidParams, `ref "" is not a ref`},
		{"@", protocol.InvalidParams, `ref "@" is not a ref`},
		{"@e", protocol.InvalidParams, `ref "@e" is not a ref`},
		{"2", protocol.InvalidParams, `ref "2" is not a ref`},
		{"@E2", protocol.InvalidParams, `ref "@E2" is not a ref`},
		{"@e02", protocol.InvalidParams, `ref "@e02" is not a ref`},
		{"@e+2", protocol.InvalidParams, `ref "@e+2" is not a ref`},
		{"@e-2", protocol.InvalidParams, `ref "@e-2" is not a ref`},
		{"@@e2", protocol.InvalidParams, `ref "@@e2" is not a ref`},
		{"@ref=e2", protocol.InvalidParams, `ref "@ref=e2" is not a ref`},
		{" @e2", protocol.InvalidParams, `ref " @e2" is not a ref`},
		{"@e2\n", protocol.InvalidParams, `ref "@e2\n" is not a ref`},
		{"@e٢", protocol.InvalidParams, `ref "@e٢" is not a ref`},
		{"@e2 [button]", protocol.InvalidParams, `ref "@e2 [button]" is not a ref`},
	} {
		_, err := r.Lookup(test.ref)
		var e *protocol.Error
		if !errors.As(err, &e) {
			t.Errorf("Lookup(%q): %v", test.ref, err)
			continue
		}
		if e.Code != test.code || e.Message != test.message {
			t.Errorf("Lookup(%q)\ngot  %s: %s\nwant %s: %s", test.ref, e.Code, e.Message, test.code, test.message)
		}
	}
	_, err := r.Lookup("@e1")
	var e *protocol.Error
	errors.As(err, &e)
	if diff := cmp.Diff(map[string]any{"candidates": []any{}}, e.Details); diff != "" {
		t.Errorf("details of stale_ref: got before want\n%s", diff)
	}
	r.Forget(2)
	if _, err := r.Lookup("@e2"); !strings.HasSuffix(err.Error(), "@e2 is gone: it was button") {
		t.Errorf("a ref without a name: %v", err)
	}
}

func TestRefsMove(t *testing.T) {
	r := NewRefs()
	r.Number(button(1, 1, "Remove"))
	moved := r.Move(1, button(1, 2, "Remove"))
	if moved.N != 2 || moved.Key != (Key{1, 2}) {
		t.Fatalf("moved to %+v", moved)
	}
	again := r.Move(1, button(1, 3, "Remove")) // and again, by the oldest ref
	for _, ref := range []string{"@e1", "@e2", "@e3"} {
		got, err := r.Lookup(ref)
		if err != nil || got != again || got.N != 3 || got.Key != (Key{1, 3}) {
			t.Errorf("Lookup(%s) = %+v, %v", ref, got, err)
		}
	}
	if same := r.Move(2, button(1, 3, "Remove")); same != again {
		t.Errorf("moved to where it is: %+v", same)
	}
	// The first node comes back: it is not what @e1 means any more.
	if n := r.Number(button(1, 1, "Remove")); n != 4 {
		t.Errorf("the old node came back as @e%d", n)
	}
	// To a node that has been shown already.
	r.Move(3, button(1, 1, "Remove"))
	if got, err := r.Lookup("@e1"); err != nil || got.N != 4 {
		t.Errorf("Lookup(@e1) = %+v, %v", got, err)
	}
	r.Forget(1)
	for _, ref := range []string{"@e1", "@e2", "@e3", "@e4"} {
		if _, err := r.Lookup(ref); protocol.CodeOf(err) != protocol.StaleRef || !strings.Contains(err.Error(), `it was button "Remove"`) {
			t.Errorf("Lookup(%s): %v", ref, err)
		}
	}
	if r.live != 0 || len(r.docs) != 0 {
		t.Errorf("%d live refs, %d documents after the last is forgotten", r.live, len(r.docs))
	}
	// A ref of a document that is gone cannot be moved.
	r.Move(1, button(2, 1, "Remove"))
	if _, err := r.Lookup("@e1"); protocol.CodeOf(err) != protocol.StaleRef {
		t.Errorf("@e1 came back: %v", err)
	}
}

func TestRefsMemoryIsBounded(t *testing.T) {
	r := NewRefs()
	for doc := 1; doc <= 30; doc++ {
		for node := range 1000 {
			r.Number(button(doc, node+1, strings.Repeat("x", 500)))
		}
		r.Forget(doc)
	}
	if len(r.entries) != maxDead || len(r.docs) != 0 {
		t.Errorf("%d entries, %d documents", len(r.entries), len(r.docs))
	}
	for _, n := range []int{1, 9999, 30000} {
		if _, err := r.Lookup(RefOf(n)); protocol.CodeOf(err) != protocol.StaleRef {
			t.Errorf("@e%d: %v", n, err)
		}
	}
	if _, err := r.Lookup("@e30001"); protocol.CodeOf(err) != protocol.UnknownRef {
		t.Errorf("@e30001: %v", err)
	}
}

// One document that makes new nodes forever: what was shown last stays.
func TestRefsOfALongLifeAreBounded(t *testing.T) {
	r := NewRefs()
	for node := range maxLive + maxLive/4 {
		r.Number(button(1, 1, "Menu"))
		r.Number(button(1, node+2, "Row"))
	}
	if r.live > maxLive+2 || len(r.entries) > maxLive+2+maxDead {
		t.Errorf("%d live, %d entries", r.live, len(r.entries))
	}
	if e, err := r.Lookup("@e1"); err != nil || e.Name != "Menu" {
		t.Errorf("the ref shown all the time: %+v, %v", e, err)
	}
	if _, err := r.Lookup("@e2"); protocol.CodeOf(err) != protocol.StaleRef {
		t.Errorf("the ref shown once, long ago: %v", err)
	}
	live := 0
	for _, e := range r.entries {
		if !e.gone {
			live++
		}
	}
	if live != r.live || live != len(r.docs[1].byNode) {
		t.Errorf("%d live counted, %d found, %d by node", r.live, live, len(r.docs[1].byNode))
	}
}

// A node's strings may be parts of an answer of megabytes: what is kept of it are
// copies, whichever of them are empty.
func TestRefsHaveStringsOfTheirOwn(t *testing.T) {
	answer := strings.Repeat("button Save save1 ", 10)
	within := func(s string) bool {
		p, from := uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(unsafe.Pointer(unsafe.StringData(answer)))
		return s != "" && p >= from && p < from+uintptr(len(answer))
	}
	r := NewRefs()
	for _, n := range []Node{
		{Role: answer[:6], Name: answer[7:11], Tag: answer[:6], Ident: answer[12:17]},
		{Name: answer[7:11]},
		{Role: answer[:6], Name: answer[7:11]},
	} {
		n.Key = Key{1, 1}
		e, err := r.Lookup(RefOf(r.Number(n)))
		if err != nil || e.Role != n.Role || e.Name != n.Name || e.Tag != n.Tag || e.Ident != n.Ident {
			t.Errorf("%+v, %v, of %+v", e, err, n)
		}
		for _, s := range []string{e.Role, e.Name, e.Tag, e.Ident} {
			if within(s) {
				t.Errorf("%q is a part of the answer, of %+v", s, n)
			}
		}
	}
}

func FuzzRefLookup(f *testing.F) {
	for _, s := range []string{"@e1", "e2", "ref=e3", "ref=@e4", "@e05", "@e", "e99999999999999999999", "@e1\x00"} {
		f.Add(s)
	}
	r := NewRefs()
	for i := range 5 {
		r.Number(button(1+i%2, i+1, fmt.Sprint("b", i)))
	}
	r.Move(1, button(1, 9, "b0"))
	r.Forget(2)
	f.Fuzz(func(t *testing.T, ref string) {
		e, err := r.Lookup(ref)
		switch protocol.CodeOf(err) {
		case "":
			n, ok := parseRef(ref)
			if !ok || e.Key == (Key{}) || e.N != n && n != 1 {
				t.Fatalf("Lookup(%q) = %+v", ref, e)
			}
		case protocol.StaleRef, protocol.UnknownRef, protocol.InvalidParams:
			if strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > 1200 {
				t.Fatalf("Lookup(%q): %v", ref, err)
			}
		default:
			t.Fatalf("Lookup(%q): %v", ref, err)
		}
	})
}
