// Package storage reads and writes what origins keep in the local and session storage of a browser
// context, without a request to them and without running their scripts: in a page of its
// own ([Page]). It also keeps the list of origins that a context has shown ([Origins]).
//
// It does not touch cookies (package network) or databases.
package storage
