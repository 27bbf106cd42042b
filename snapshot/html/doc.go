// Package html reads a document from its HTML alone, as the same lines with
// refs that package snapshot writes of a live page, and reads what one element
// holds. It needs no browser, no daemon and no network.
//
// Roles are HTML-AAM's, names those of Accessible Name and Description
// Computation 1.2, and what gets a line is decided as the live page's script
// does (browser/script), as far as a document without boxes can know: what is hidden
// is known from the markup and from the style sheets within it. Scripting is
// off: noscript is shown, nothing is executed.
//
// A Document belongs to one goroutine at a time. Its tree is not to be changed:
// what a person has entered is handed in as Values.
package html
