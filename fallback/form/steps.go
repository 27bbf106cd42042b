package form

import (
	"math/big"
	"strings"

	"golang.org/x/net/html"
)

// stepping has the parameters of a type's step (HTML 4.10.5.3.8): its scale, its
// default step before scaling, and its default base.
var stepping = map[string]struct{ scale, step, base int64 }{
	"number":         {1, 1, 0},
	"range":          {1, 1, 0},
	"date":           {86400000, 1, 0},
	"month":          {1, 1, 0},
	"week":           {604800000, 1, -259200000},
	"time":           {1000, 60, 0},
	"datetime-local": {1000, 60, 0},
}

// counted parses a value of a type that has bounds and steps.
func counted(kind, value string) (*big.Rat, bool) {
	if kind == "number" || kind == "range" {
		return number(value)
	}
	return moment(kind, value)
}

// stepOf returns the allowed value step, nil if any value is allowed.
func stepOf(n *html.Node, kind string) *big.Rat {
	s, ok := stepping[kind]
	if !ok {
		return nil
	}
	word := attr(n, "step")
	if strings.EqualFold(word, "any") {
		return nil
	}
	step, ok := number(word)
	if !ok || step.Sign() <= 0 {
		step = big.NewRat(s.step, 1)
	}
	return new(big.Rat).Mul(step, big.NewRat(s.scale, 1))
}

// stepBase returns the step base (HTML 4.10.5.3.8).
func stepBase(n *html.Node, kind string) *big.Rat {
	if lo, ok := counted(kind, attr(n, "min")); ok {
		return lo
	}
	if v, ok := counted(kind, attr(n, "value")); ok {
		return v
	}
	return big.NewRat(stepping[kind].base, 1)
}
