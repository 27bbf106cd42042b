package secret

import (
	"context"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
)

// lastSeconds is what must be left of a code's time for it to be given: it has to be typed, sent
// and checked.
const lastSeconds = 3 * time.Second

// codeAt returns the code of a time step (RFC 6238, 4.2), counted from 1970.
func codeAt(key *otp.Key, step uint64) (string, error) {
	return hotp.GenerateCodeCustom(key.Secret(), step, hotp.ValidateOpts{Digits: key.Digits(), Algorithm: key.Algorithm()})
}

// nextStep returns the time step whose code may be given, and how long it is until then: never
// one that was given before, nor one that is nearly over. last is the last that was given.
func nextStep(now time.Time, period time.Duration, last uint64) (step uint64, wait time.Duration) {
	at := time.Duration(now.UnixNano())
	step = uint64(at / period)
	if (at/period+1)*period-at < lastSeconds && period > lastSeconds {
		step++
	}
	step = max(step, last+1)
	return step, max(0, time.Duration(step)*period-at)
}

// waitFor waits until a code's time step begins. Its error is ctx's cause.
func waitFor(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
