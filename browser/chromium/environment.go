package chromium

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
)

// withoutPrograms replaces PATH by dir, so that a link such as mailto: does not make Chromium
// start xdg-open. Chromium finds its own helpers in its own directory. A wrapper script, and
// any program on Windows, keeps its PATH.
func withoutPrograms(env []string, program, dir string) []string {
	if runtime.GOOS == "windows" || isScript(program) {
		return env
	}
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	// With no PATH at all the C library looks in /bin and /usr/bin.
	return append(env, "PATH="+dir)
}

// isScript reports whether the program is a script (#!).
func isScript(program string) bool {
	f, err := os.Open(program)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "#!"
}

// inheritedVariables are the variables that Chromium gets from the daemon's environment:
// what it needs to find its libraries, fonts, language and time zone. Tokens,
// proxies and everything else are not passed on.
var inheritedVariables = []string{
	"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH",
	// Windows does not start programs without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMDATA", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// windowVariables are inherited too if Chromium opens windows.
var windowVariables = []string{"DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE"}

// environment is Chromium's environment: the variables above, and directories
// of its own in place of the user's.
func environment(from []string, prof *profile, windows bool) []string {
	allowed := inheritedVariables
	if windows {
		allowed = append(slices.Clone(inheritedVariables), windowVariables...)
	}
	var env []string
	for _, kv := range from {
		name, _, _ := strings.Cut(kv, "=")
		up := strings.ToUpper(name)
		if slices.Contains(allowed, up) || strings.HasPrefix(up, "LC_") {
			env = append(env, kv)
		}
	}
	home, tmp := prof.home(), prof.tmp()
	for _, kv := range [][2]string{
		{"HOME", home}, {"TMPDIR", tmp}, {"TMP", tmp}, {"TEMP", tmp},
		{"XDG_CONFIG_HOME", home}, {"XDG_CACHE_HOME", home}, {"XDG_DATA_HOME", home}, {"XDG_STATE_HOME", home},
		{"USERPROFILE", home}, {"APPDATA", home}, {"LOCALAPPDATA", home},
		// So that Chromium neither waits for a bus nor uses the user's.
		{"DBUS_SESSION_BUS_ADDRESS", "disabled:"}, {"DBUS_SYSTEM_BUS_ADDRESS", "disabled:"},
	} {
		env = append(env, fmt.Sprintf("%s=%s", kv[0], kv[1]))
	}
	return env
}
