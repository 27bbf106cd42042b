package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
)

// nameCase is one case of accname.json (README.md there): a fragment, the role
// that Chromium gives the element under test, and the name or role expected.
type nameCase struct {
	ID     string `json:"id"`
	HTML   string `json:"html"`
	Role   string `json:"role"`
	Expect struct {
		// Name is absent where the case is about the role.
		Name *string `json:"name"`
	} `json:"expect"`
	ChromiumAgrees bool `json:"chromium_agrees"`
	AnyRole        bool `json:"any_role"`
}

// scored reports whether the case counts: Chromium's own tree has to agree with
// it, and the role must be one that a snapshot shows.
func (c nameCase) scored() bool {
	return c.ChromiumAgrees && c.Role != "none" && c.Role != "generic"
}

// namesKnown are the cases of accname.json that do not pass, and why.
var namesKnown = map[string]string{
	"daa/name#43": "an empty layout table shows a person nothing, and has no line",
}

// The role and name cases of ../shared/cases/accname.json, each fragment as the
// body of a page of its own.
func TestNameCases(t *testing.T) {
	t.Parallel()
	var cases []nameCase
	for _, c := range readCases[nameCase](t, "accname.json") {
		if c.scored() {
			cases = append(cases, c)
		}
	}
	w := newPageServer(t)
	w.mux.HandleFunc("GET /n/{i}", func(rw http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.PathValue("i"))
		if err != nil || i < 0 || i >= len(cases) {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(rw, "<!doctype html><html><head><title>case</title></head><body>"+cases[i].HTML+"</body></html>")
	})
	d := sharedDaemon(t)
	reasons := make([]string, len(cases))
	inParallel(t, d, len(cases), func(a *agent, i int) {
		reasons[i] = a.nameCase(fmt.Sprintf("%s/n/%d", w.URL, i), cases[i])
	})
	ids := make([]string, len(cases))
	for i, c := range cases {
		ids[i] = c.ID
	}
	score(t, ids, reasons, 0.995, namesKnown)
}

// nameCase opens the case's page and looks for the node; it returns why the
// case does not pass.
func (a *agent) nameCase(url string, c nameCase) string {
	if _, err := a.try("open", params{"url": url, "snapshot": "none", "timeout_ms": 20000}); err != nil {
		return fmt.Sprintf("open: %v", err)
	}
	v, err := a.trySnapshot()
	if err != nil {
		return fmt.Sprintf("snapshot: %v", err)
	}
	for _, n := range v.Nodes {
		role := n.Role == c.Role || c.AnyRole && n.Role != "generic" && n.Ref != ""
		if role && (c.Expect.Name == nil || fold(n.Name) == fold(*c.Expect.Name)) {
			return ""
		}
	}
	if c.Expect.Name == nil {
		return fmt.Sprintf("no %s for %s in:\n%s", c.Role, fold(c.HTML), v.Text)
	}
	return fmt.Sprintf("no %s %q for %s in:\n%s", c.Role, *c.Expect.Name, fold(c.HTML), v.Text)
}
