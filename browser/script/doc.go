// Package script is the JavaScript that runs in pages, and the Go that calls it.
//
// The script's ES modules are in js; js/main.js is where they begin. go generate bundles
// and minifies them into bundle.js, which is embedded: Source. It runs in the isolated
// world "browserd" of every document, at the document's start, and its functions are those
// of one global object of that world. The functions are declared in functions.go, each
// with the types of its argument and its result; from these types go generate writes
// js/functions.d.ts, against which tsc checks the modules.
//
// The package writes expressions and never sends them. What a call answers is decoded by
// who sent it. All of it may be used from any goroutine.
package script

import (
	_ "embed"
	"strings"
)

//go:generate go test . -run ^TestDeclarations$ -update
//go:generate go -C ../../tools run ./bundle ../browser/script/js/main.js ../browser/script/bundle.js

// Source is the script. It does nothing where it has run in the same world before.
//
//go:embed bundle.js
var Source string

// Reached is the name of the binding with which the hit test says that input has reached
// its element, before the page hears of it. It stands in the isolated world alone.
const Reached = "__bdReached"

// Asks is the name of the binding with which a document says that a person who drives has opened a
// select: JSON of its options, as package person has them.
const Asks = "__bdAsks"

// Late is the name of the binding with which the watching script says what has come after
// an action was answered: JSON of LateReport.
const Late = "__bdLate"

// Missing reports whether V8 says this of a call in a document that the script is not in.
// There an element of the page may have the name of our object (HTML, 7.2.2.3: named access
// on the Window object): its now is no function.
func Missing(said string) bool {
	return strings.HasPrefix(said, "ReferenceError: "+global+" is not defined") ||
		strings.HasPrefix(said, "TypeError: "+global+".now is not a function")
}

// global is the object whose functions the daemon calls.
const global = "__bd"
