package reader

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestTheTokenBudgetIsSent(t *testing.T) {
	for budget, want := range map[int]string{0: "", 5000: "5000"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("X-Token-Budget"); got != want {
				t.Errorf("budget %d was sent as %q", budget, got)
			}
			io.WriteString(w, `{"code":200,"data":{"content":"words"}}`)
		}))
		transport := &http.Transport{DisableKeepAlives: true}
		r := New(Config{ReaderURL: s.URL, TokenBudget: budget}, Options{
			Transport: transport,
			Check:     func(_ context.Context, url string) (string, error) { return url, nil },
			Public:    func(context.Context, string) error { return nil },
		})
		if _, err := r.Read(t.Context(), "https://example.com/", Markdown); err != nil {
			t.Error(err)
		}
		s.Close()
	}
	if err := (Config{TokenBudget: -1}).Check(); err == nil {
		t.Error("a budget below 0 was taken")
	}
}
