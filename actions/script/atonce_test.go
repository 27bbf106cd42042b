package script

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// At most scripts.per_token scripts run at once with one token. A further one is refused,
// another token's is not, and one more runs when one has ended, however it ended.
func TestScriptsAtOnceWithOneToken(t *testing.T) {
	limits := DefaultConfig
	limits.PerToken = 2
	pool := testPool(t, limits)
	waiting, ended := make(chan func()), make(chan error)
	script := func(token int) Script {
		return Script{Code: "await browser.echo('a')", Commands: map[string]string{"echo": "text"}, Token: token}
	}
	begin := func(token int) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := pool.Run(ctx, script(token), func(ctx context.Context, _ Step) Answer {
				waiting <- cancel
				<-ctx.Done()
				return Answer{Result: json.RawMessage("{}")}
			})
			ended <- err
		}()
		return <-waiting
	}
	ends := []func(){begin(1), begin(1), begin(2)}
	_, err := pool.Run(t.Context(), script(1), nil)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.RateLimited || e.Details["quota"] != "scripts.per_token" || e.Details["limit"] != 2 || e.Next == "" {
		t.Errorf("a third one: %v", err)
	}
	ends[0]()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, end := range append(ends[1:], begin(1)) {
		end()
		<-ended
	}
	if len(pool.running) > 0 {
		t.Errorf("when all have ended, %v are counted", pool.running)
	}
}

// When the process is killed, the step that it waits for ends at once, and so does the script.
func TestAProcessThatDiesInAStep(t *testing.T) {
	pool := testPool(t, DefaultConfig)
	c, err := pool.assign(t.Context(), Script{Code: "await browser.echo('a')", Commands: map[string]string{"echo": "text"}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.discard(c)
	_, err = c.run(t.Context(), pool.config, func(ctx context.Context, _ Step) Answer {
		c.kill()
		<-ctx.Done()
		return Answer{Result: json.RawMessage("{}")}
	})
	if !errors.Is(err, ErrDied) {
		t.Error(err)
	}
}
