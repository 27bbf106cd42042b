// Package network is what a browser context keeps of its network and console:
// the request log with its bodies ([Log]), the routes that block or answer
// requests ([Routes]), the files that its pages download ([Downloads]), and its
// cookies ([Cookies]).
//
// Its types belong to one browser context each, are told of CDP events by it,
// and guard their own state: any goroutine may call them, and none of them calls
// its owner with a lock held. Secrets in headers, URLs and bodies are masked before they are
// handed out.
//
// [AnswerChallenge] has a context learn the credentials of its egress proxy.
//
// The package never decides whether a request may leave the machine: that is the
// egress proxy's (package policy).
package network
