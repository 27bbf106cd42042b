// Package screenshot is what one screenshot needs apart from the page: which part of
// the page it shows, the parameters of Page.captureScreenshot, and the picture that
// the client gets, with refs drawn on it where that was asked for.
//
// It sends nothing to Chromium and has no state beyond one [Shot], which belongs to the
// goroutine that takes it.
package screenshot
