package actions

import (
	"fmt"
	"strings"
)

// Markdown is docs/commands.md: every command with its parameters, from the
// rows. `go test ./actions -update` writes it.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Commands

Made from the rows of actions.All; do not edit.

Every command takes ` + "`session`" + ` (the session's name; left out: the connection's own) and ` + "`timeout_ms`" + ` (default 30000, at most 120000).
*at once*: does not queue. *acts*: changes the page and carries ` + "`effect`" + `. *static*: works without Chromium too.
`)
	for i := range All {
		h := All[i].Help()
		fmt.Fprintf(&b, "\n## %s\n\n%s", h.Command, h.Summary)
		for _, m := range []struct {
			word string
			on   bool
		}{{"at once", h.AtOnce}, {"acts", h.Acts}, {"static", h.Static}} {
			if m.on {
				fmt.Fprintf(&b, " *%s*", m.word)
			}
		}
		b.WriteString("\n")
		header := false
		for _, p := range h.Parameters {
			if p.Name == "session" || p.Name == "timeout_ms" {
				continue
			}
			if !header {
				b.WriteString("\n| parameter | takes | default | meaning |\n|---|---|---|---|\n")
				header = true
			}
			name := "`" + p.Name + "`"
			if p.Name == h.Main {
				name += " (main)"
			}
			def := p.Default
			if p.Required {
				def = "required"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, p.Takes, def, p.Doc)
		}
	}
	return b.String()
}
