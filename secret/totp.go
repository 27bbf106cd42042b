package secret

import (
	"context"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
)

// minCodeValidity is how long a code must be valid at least when it is given, since it has to be typed, sent
// and checked.
const minCodeValidity = 3 * time.Second

// codeAt returns the code of a time step (RFC 6238, 4.2), counted from 1970.
func codeAt(key *otp.Key, step uint64) (string, error) {
	return hotp.GenerateCodeCustom(key.Secret(), step, hotp.ValidateOpts{Digits: key.Digits(), Algorithm: key.Algorithm()})
}

// nextStep returns the time step whose code may be given next, and how long to wait for it. It is later than
// last, the step that was given last, and not nearly over.
func nextStep(now time.Time, period time.Duration, last uint64) (step uint64, wait time.Duration) {
	at := time.Duration(now.UnixNano())
	step = uint64(at / period)
	if (at/period+1)*period-at < minCodeValidity && period > minCodeValidity {
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
