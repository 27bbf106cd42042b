// Package browser is what sessions do with Chromium's pages: browser contexts, tabs,
// frames, and one file for each thing that a page can be asked to do.
//
// A [Browser] hands out browser contexts ([Context]) of one Chromium, which package
// chromium runs and package cdp connects to. When that Chromium dies, the calls that are
// under way fail with [cdp.ErrGone], its contexts are gone, and the next NewContext
// launches another one.
//
// The package never decides whether a URL may be opened (package policy), and
// never logs page text or what is typed.
package browser
