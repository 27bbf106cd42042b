package protocol

import (
	"fmt"
	"strings"
)

// Markdown returns docs/errors.md: every row of Codes.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Errors

<!-- Written from protocol.Codes by "go test ./protocol -update"; do not edit. -->

An error has a stable code, one sentence for people, the next step that helps, and the facts (details). Codes are only ever added, never changed or removed.

| transport | where it is |
|---|---|
| WebSocket | ` + "`error.data`: {code, retryable, next, details}; the sentence is `error.message`, the number below `error.code`" + ` |
| HTTP | the status below, and ` + "`{\"error\": {code, message, retryable, next, details}}`" + ` |
| MCP | a tool error whose text is the code and the sentence, ` + "`next: …` and `details: …`" + ` |
| command line | the sentence and its next step on standard error, and the exit code below. 0: the command succeeded. 2: also a wrong command line or configuration. 8: also a daemon that cannot be reached |

"Retryable": the same command may succeed if you send it again unchanged. Do the next step first.

| code | number | HTTP | exit code | retryable | when | next step, unless the error names a better one |
|---|---|---|---|---|---|---|
`)
	for _, r := range Codes {
		again := "no"
		if r.Retryable {
			again = "yes"
		}
		cell := strings.NewReplacer("|", `\|`, "<", "&lt;").Replace
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %s | %s |\n", r.Code, r.RPC, r.HTTP, r.Exit, again, cell(r.When), cell(r.Next))
	}
	return b.String()
}
