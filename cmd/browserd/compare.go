package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/policy"
)

// restartHelps is the command for a daemon that is not as this shell would start it.
const restartHelps = "browserd restart replaces it (its sessions end)"

// compare says on stderr how the running daemon differs from the one that this command
// line would start. Of a flag that it was not given it is an error: nothing was done.
func compare(ctx context.Context, c *config.Loaded, at endpoint, stderr io.Writer) error {
	d, err := controlled{at}.about(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "browserd: the running daemon does not say what it is: %v: %s\n", err, restartHelps)
		return nil
	}
	if is := d.otherProgram(); is != "" {
		fmt.Fprintf(stderr, "browserd: the running daemon (%s) %s: %s\n", d.who(), is, d.replaceIt())
	}
	for _, v := range d.differences(c.Values) {
		_, isFlag := strings.CutPrefix(v.here.From, "flag ")
		switch {
		case isFlag:
			return refusal{fmt.Errorf("the running daemon (%s) has %s=%s, not what %s says\n→ browserd restart %s (its sessions end), or leave the flag out",
				d.who(), v.here.Key, compact(v.there.Value), v.here.From, strings.Join(quoteAll(c.Flags), " "))}
		case v.here.From != config.FromDefault:
			fmt.Fprintf(stderr, "browserd: the running daemon (%s) does not have %s=%s (from %s): %s\n", d.who(), v.here.Key, compact(v.here.Value), v.here.From, d.replaceIt())
		}
	}
	return nil
}

func quoteAll(words []string) []string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = command.Quoted(w)
	}
	return quoted
}

// replaceIt is how a person replaces the daemon by one that is as this shell would start it.
func (a about) replaceIt() string {
	if a.LogFile == "" {
		return "stop it, and start it where it was started"
	}
	return restartHelps
}

// who tells a person which daemon it is.
func (a about) who() string { return fmt.Sprintf("pid %d, up %s", a.PID, a.uptime()) }

// otherProgram says how the daemon's program differs from this one; empty: it does not.
func (a about) otherProgram() string {
	path, built := program()
	switch {
	case a.Version != buildVersion():
		return fmt.Sprintf("is version %s, and this program is %s", a.Version, buildVersion())
	case a.Program == path && !a.Built.Equal(built):
		return "was started before " + path + " was built anew"
	}
	return ""
}

// difference is a key that has one value here and another in the daemon.
type difference struct{ here, there config.Value }

// differences returns the settings that a daemon would have if it were started here and that
// the running one has not. How it is reached is left out: it was.
func (a about) differences(here []config.Value) []difference {
	var list []difference
	for _, v := range here {
		i := slices.IndexFunc(a.Settings, func(o config.Value) bool { return o.Key == v.Key })
		switch {
		case v.Key == "server.listen", strings.HasPrefix(v.Key, "auth."), i < 0:
		case v.Key == policy.KeyAllowHosts && a.opens(v.Value):
		case compact(a.Settings[i].Value) != compact(v.Value):
			list = append(list, difference{v, a.Settings[i]})
		}
	}
	return list
}

// shown returns the differences that a person would not expect: not those that come from how
// the daemon was started.
func (a about) shown(here []config.Value) []difference {
	return slices.DeleteFunc(a.differences(here), func(d difference) bool {
		return d.here.From == config.FromDefault && strings.HasPrefix(d.there.From, "flag ")
	})
}

// opens reports whether the daemon opens these hosts and no others but what its user
// allowed while it ran.
func (a about) opens(hosts any) bool {
	i := slices.IndexFunc(a.Settings, func(v config.Value) bool { return v.Key == policy.KeyAllowHosts })
	want, there := textsOf(hosts), textsOf(a.Settings[i].Value)
	return !slices.ContainsFunc(want, func(h string) bool { return !slices.Contains(there, h) && !slices.Contains(a.Allowed, h) }) &&
		!slices.ContainsFunc(there, func(h string) bool { return !slices.Contains(want, h) })
}

// textsOf returns a list of strings, also where JSON has made it one of any values.
func textsOf(v any) []string {
	if list, ok := v.([]string); ok {
		return list
	}
	list, _ := v.([]any)
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = fmt.Sprint(one)
	}
	return texts
}
