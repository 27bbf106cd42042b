package browser

import (
	"testing"

	"github.com/browserd/browserd/protocol"
)

// A tab that dies is replaced although the session has as many tabs as it may:
// windows that its pages opened, here.
func TestADeadTabIsReplacedAtTheLimit(t *testing.T) {
	s := newStage(t)
	v := s.open(t, `<button>Go</button>`)
	if _, err := v.c.TabNew(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	v.c.mu.Lock()
	v.c.o.MaxTabs = 1
	dead := v.c.selected
	v.c.mu.Unlock()
	dead.cdp.Send("Page.crash", struct{}{})
	<-dead.life.Done()
	_, err := v.c.Open(t.Context(), s.srv.URL+"/", protocol.WaitAuto)
	if err != nil {
		t.Errorf("open: %v", err)
	}
	if list := v.c.Tabs(); len(list) != 2 {
		t.Errorf("%+v", list)
	}
}
