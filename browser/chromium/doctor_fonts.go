package chromium

import (
	"context"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fontChecks looks for fonts: pages read the same without, but screenshots
// show boxes and elements without text may have no size to click on.
func fontChecks(ctx context.Context) []Check {
	const name = "fonts"
	const install = "install fonts, such as fonts-liberation, fonts-noto-cjk and fonts-noto-color-emoji"
	some, cjk, emoji := fontsBy(ctx)
	if !some {
		return []Check{warned(name, install, "none: text has no glyphs in screenshots, and some elements have no size")}
	}
	var missing []string
	if !cjk {
		missing = append(missing, "Chinese, Japanese and Korean")
	}
	if !emoji {
		missing = append(missing, "emoji")
	}
	if len(missing) > 0 {
		return []Check{warned(name, install, "none for %s: they are boxes in screenshots", strings.Join(missing, " or "))}
	}
	return []Check{passed(name, "there, with Chinese, Japanese, Korean and emoji")}
}

// fontsBy asks fontconfig, as Chromium does, and otherwise reads file names.
func fontsBy(ctx context.Context) (some, cjk, emoji bool) {
	if path, err := exec.LookPath("fc-list"); err == nil {
		has := func(pattern string) bool {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, path, pattern, "family").Output()
			return err == nil && len(strings.TrimSpace(string(out))) > 0
		}
		return has(":"), has(":charset=4e00"), has(":charset=1f600")
	}
	for _, dir := range fontDirs() {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".ttf", ".ttc", ".otf"}, strings.ToLower(filepath.Ext(path))) {
				return nil
			}
			low := strings.ToLower(filepath.Base(path))
			some = true
			cjk = cjk || containsAny(low, "cjk", "wqy", "pingfang", "hiragino", "msyh", "gothic", "droidsansfallback")
			emoji = emoji || containsAny(low, "emoji", "seguiemj", "symbola")
			return nil
		})
	}
	return some, cjk, emoji
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}
