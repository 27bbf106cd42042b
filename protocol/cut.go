package protocol

// Cut returns the first n characters of s, and "…" behind them where those are not
// all: what an error quotes of what somebody sent. Never in the middle of a
// character. Lines of a snapshot are cut by snapshot.Cut, which also keeps what is
// seen as one character together.
func Cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
