// Package recording writes down what happens in a session, for people to look at afterwards:
// traces, which Playwright's trace viewer opens, and videos. It owns the files.
//
// A file holds what the session's own client was shown or told, with secrets masked, and
// pictures of the page. It never holds the body of a request or of an answer, and nothing of the
// time in which a recorder is paused but the names of commands.
package recording
