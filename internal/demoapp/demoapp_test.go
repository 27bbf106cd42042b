package demoapp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/demoapp"
)

func get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	demoapp.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

func TestPaths(t *testing.T) {
	tests := []struct {
		path   string
		status int
		holds  string
	}{
		{"/", 200, `<script type="module" src="/static/app.js">`},
		{"/items", 200, "app.js"},
		{"/items/3", 200, "app.js"},
		{"/contact", 200, "app.js"},
		{"/about", 200, "app.js"},
		{"/frame", 200, "<title>Newsletter</title>"},
		{"/static/app.js", 200, "history.pushState"},
		{"/static/app.css", 200, "font"},
		{"/static/frame.js", 200, "Subscribed"},
		{"/nothing", 404, ""},
		{"/items/3/4", 404, ""},
		{"/api/contact", 405, ""},
	}
	for _, tt := range tests {
		resp, body := get(t, tt.path)
		if resp.StatusCode != tt.status || !strings.Contains(body, tt.holds) {
			t.Errorf("GET %s = %d, want %d with %q in it; body %.80q", tt.path, resp.StatusCode, tt.status, tt.holds, body)
		}
	}
}

func TestContact(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
	}{
		{"whole", `{"name":"Ola","message":"Hei","topic":"Praise","reply":"email","date":"","copy":true}`, 204},
		{"no name", `{"name":" ","message":"Hei"}`, 400},
		{"no message", `{"name":"Ola"}`, 400},
		{"unknown field", `{"name":"Ola","message":"Hei","admin":true}`, 400},
		{"not JSON", `name=Ola`, 400},
		{"too long", `{"name":"Ola","message":"` + strings.Repeat("x", 64<<10) + `"}`, 400},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		demoapp.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/api/contact", strings.NewReader(tt.body)))
		if w.Code != tt.status {
			t.Errorf("%s: %d, want %d: %s", tt.name, w.Code, tt.status, w.Body)
		}
	}
}

// The demo is the first command in the README and must run if nothing can
// be reached.
func TestNothingIsLoadedFromElsewhere(t *testing.T) {
	outside := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9]`)
	for _, path := range []string{"/", "/frame", "/static/app.js", "/static/frame.js", "/static/app.css"} {
		resp, body := get(t, path)
		if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self'") {
			t.Errorf("%s: Content-Security-Policy %q", path, csp)
		}
		if at := outside.FindString(body); at != "" {
			t.Errorf("%s names another host: %q", path, at)
		}
	}
}

// No task of the shop is done before it has begun, nor by another task's answer.
func TestTasksBeginUndone(t *testing.T) {
	tasks := demoapp.Tasks()
	if len(tasks) != 6 {
		t.Errorf("%d tasks", len(tasks))
	}
	for _, task := range tasks {
		for _, answer := range []string{"", "done", task.Ask} {
			if (&demoapp.Shop{}).Done(task, answer) == nil {
				t.Errorf("%s is done with the answer %q", task.Name, answer)
			}
		}
		w := httptest.NewRecorder()
		(&demoapp.Shop{}).Handler().ServeHTTP(w, httptest.NewRequest("GET", task.Path, nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "</main>") {
			t.Errorf("%s: %d %s", task.Path, w.Code, w.Body)
		}
	}
}
