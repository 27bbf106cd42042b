// Package bench holds the Go benchmarks of the daemon: what a snapshot, a click,
// typing and opening cost on small and very large pages. They drive the built
// daemon through its WebSocket, as a client does. The commands beside it compare
// browserd with its peers (side), load it (crowd, soak) and play tasks as agents do
// (step, shop).
package bench
