// Package files is the files that a browser context uploads: they lie on disk, where
// Chromium reads them, until the context is closed.
package files
