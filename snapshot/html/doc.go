// Package html turns the text of an HTML document into the nodes of package snapshot, without
// a browser, and reads what one element has. It needs no daemon and no network.
//
// Roles are those of HTML-AAM, names those of Accessible Name and Description Computation
// 1.2. Which elements get a line is decided as by the script in a live page (browser/script), as far as that
// is possible without layout: the markup and the style elements within it decide what is
// hidden. Scripting is off: noscript is shown, and nothing is executed. The result depends
// on the text and the options alone, and its cost is limited whatever the page.
//
// One goroutine at a time uses a Document. The caller must not change its tree: what a
// person has entered is passed as Values.
package html
