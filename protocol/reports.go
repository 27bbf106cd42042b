package protocol

import "slices"

// Add adds what came later. Each list keeps its bound; what goes over it is counted, and
// the same console error is kept once.
func (r *Reports) Add(o Reports) {
	addTo(r, "announced", &r.Announced, o.Announced)
	addTo(r, "downloads", &r.Downloads, o.Downloads)
	addTo(r, "downloads_denied", &r.DownloadsDenied, o.DownloadsDenied)
	errors := slices.DeleteFunc(slices.Clone(o.ConsoleErrors), func(e string) bool { return slices.Contains(r.ConsoleErrors, e) })
	addTo(r, "console_errors", &r.ConsoleErrors, errors)
	addTo(r, "requests_failed", &r.RequestsFailed, o.RequestsFailed)
	for name, n := range o.LeftOut {
		r.leaveOut(name, n)
	}
}

func addTo[T any](r *Reports, name string, list *[]T, more []T) {
	n := min(MaxReports-len(*list), len(more))
	*list = append(slices.Clip(*list), more[:n]...)
	r.leaveOut(name, len(more)-n)
}

func (r *Reports) leaveOut(name string, n int) {
	if n == 0 {
		return
	}
	if r.LeftOut == nil {
		r.LeftOut = map[string]int{}
	}
	r.LeftOut[name] += n
}
