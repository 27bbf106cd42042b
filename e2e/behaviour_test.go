package e2e_test

import "testing"

// behaviourKnown are the cases of behaviour.json that do not pass, and why.
var behaviourKnown = map[string]string{}

// The 125 behavioural cases of ../shared/cases/behaviour.json: pages, steps by
// role and name, and what the page itself must have seen.
func TestBehaviourCases(t *testing.T) {
	playAll(t, readCases[playCase](t, "behaviour.json"), newPageServer(t), 0.99, behaviourKnown)
}
