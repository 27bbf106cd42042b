package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// What only some of the tools have as commands. A player asks a Driver for them
// by a type assertion, and does without where it has none.
type (
	// Reader reads an element, or without a ref the whole page: kind html is the
	// markup, value what a field holds.
	Reader interface {
		Read(ctx context.Context, ref, kind string) (string, error)
	}
	// Finder returns the elements that show a text.
	Finder interface {
		Find(ctx context.Context, text string) ([]Node, error)
	}
	// Focuser puts the focus on an element without clicking it.
	Focuser interface {
		Focus(ctx context.Context, ref string) error
	}
	// KeyTyper types key by key behind what a field holds.
	KeyTyper interface {
		TypeKeys(ctx context.Context, ref, text string) error
	}
	// TripleClicker clicks three times, which selects a paragraph.
	TripleClicker interface {
		TripleClick(ctx context.Context, ref string) error
	}
	// Scroller brings an element's scroller to its end.
	Scroller interface {
		ScrollToEnd(ctx context.Context, ref string) error
	}
	// ManySelector chooses several options.
	ManySelector interface {
		SelectMany(ctx context.Context, ref string, labels []string) error
	}
	// Pointer has a mouse that goes by coordinates (action move, down or up), and
	// says where an element is, both in CSS pixels of the viewport.
	Pointer interface {
		Box(ctx context.Context, ref string) (Box, error)
		Mouse(ctx context.Context, action string, x, y float64) error
	}
)

// Box is where an element is.
type Box struct{ X, Y, Width, Height float64 }

func (d *browserd) Read(ctx context.Context, ref, kind string) (string, error) {
	p := params{"kind": kind, "max_chars": 100_000}
	if ref != "" {
		p["ref"] = ref
	}
	var r struct{ Content string }
	err := d.call(ctx, "read", p, &r)
	return r.Content, err
}

func (d *browserd) Find(ctx context.Context, text string) ([]Node, error) {
	var r struct {
		Nodes []struct{ Ref, Role, Name string }
	}
	if err := d.call(ctx, "find", params{"text": text}, &r); err != nil {
		return nil, err
	}
	var out []Node
	for _, n := range r.Nodes {
		out = append(out, Node{Ref: n.Ref, Role: n.Role, Name: n.Name})
	}
	return out, nil
}

func (d *browserd) Focus(ctx context.Context, ref string) error {
	return d.do(ctx, "focus", params{"ref": ref})
}

func (d *browserd) TypeKeys(ctx context.Context, ref, text string) error {
	return d.do(ctx, "type", params{"ref": ref, "text": text, "mode": "keys"})
}

func (d *browserd) TripleClick(ctx context.Context, ref string) error {
	return d.do(ctx, "click", params{"ref": ref, "count": 3})
}

func (d *browserd) ScrollToEnd(ctx context.Context, ref string) error {
	return d.do(ctx, "scroll", params{"ref": ref, "to": "bottom"})
}

func (d *browserd) SelectMany(ctx context.Context, ref string, labels []string) error {
	return d.do(ctx, "select", params{"ref": ref, "values": labels})
}

func (d *browserd) Box(ctx context.Context, ref string) (b Box, err error) {
	s, err := d.Read(ctx, ref, "box")
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal([]byte(s), &b)
}

func (d *browserd) Mouse(ctx context.Context, action string, x, y float64) error {
	return d.do(ctx, "mouse", params{"action": action, "x": x, "y": y})
}

// Read of html puts an element's own tag, which agent-browser leaves out, around
// what it answers.
func (d *agentBrowser) Read(ctx context.Context, ref, kind string) (string, error) {
	if kind == "value" {
		var r struct{ Value string }
		err := d.call(ctx, params{"action": "inputvalue", "selector": ref}, &r)
		return r.Value, err
	}
	selector := ref
	if ref == "" {
		selector = "body"
	}
	var r struct{ HTML string }
	if err := d.call(ctx, params{"action": "innerhtml", "selector": selector}, &r); err != nil {
		return "", err
	}
	if ref == "" {
		return "<body>" + r.HTML + "</body>", nil
	}
	var own strings.Builder
	for _, name := range []string{"class", "id", "style", "fill", "x", "y", "width", "height", "cx", "cy", "r", "points", "font-size"} {
		var a struct{ Value *string }
		if err := d.call(ctx, params{"action": "getattribute", "selector": ref, "attribute": name}, &a); err == nil && a.Value != nil {
			fmt.Fprintf(&own, " %s=%q", name, *a.Value)
		}
	}
	return "<" + shapeOf(own.String()) + own.String() + ">" + r.HTML, nil
}

// shapeOf is the tag that has such attributes.
func shapeOf(attributes string) string {
	for _, t := range [][2]string{{" points=", "polygon"}, {" r=", "circle"}, {" font-size=", "text"}, {" width=", "rect"}} {
		if strings.Contains(attributes, t[0]) {
			return t[1]
		}
	}
	return "x"
}

func (d *agentBrowser) Focus(ctx context.Context, ref string) error {
	return d.call(ctx, params{"action": "focus", "selector": ref}, nil)
}

func (d *agentBrowser) TypeKeys(ctx context.Context, ref, text string) error {
	return d.call(ctx, params{"action": "type", "selector": ref, "text": text}, nil)
}

func (d *agentBrowser) SelectMany(ctx context.Context, ref string, labels []string) error {
	return d.call(ctx, params{"action": "select", "selector": ref, "values": labels}, nil)
}

func (d *agentBrowser) Box(ctx context.Context, ref string) (b Box, err error) {
	err = d.call(ctx, params{"action": "boundingbox", "selector": ref}, &b)
	return b, err
}

func (d *agentBrowser) Mouse(ctx context.Context, action string, x, y float64) error {
	if action == "move" {
		return d.call(ctx, params{"action": "mousemove", "x": x, "y": y}, nil)
	}
	return d.call(ctx, params{"action": "mouse" + action, "button": "left"}, nil)
}

func (d *playwright) TypeKeys(ctx context.Context, ref, text string) error {
	return d.did(ctx, "browser_type", params{"target": ref, "text": text, "slowly": true})
}

func (d *playwright) SelectMany(ctx context.Context, ref string, labels []string) error {
	return d.did(ctx, "browser_select_option", params{"target": ref, "values": labels})
}

func (d *devtools) TypeKeys(ctx context.Context, ref, text string) error {
	if err := d.Click(ctx, ref); err != nil {
		return err
	}
	return d.do(ctx, "type_text", params{"text": text})
}
