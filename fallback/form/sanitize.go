package form

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"
)

// sanitize runs the value sanitization algorithm of an input's type (HTML 4.10.5.1). In a
// textarea it converts line breaks to newlines.
func sanitize(n *html.Node, v string) string {
	if Is(n, "textarea") {
		return newlines(v)
	}
	switch t := Type(n); t {
	case "text", "search", "tel", "password":
		return oneLine(v)
	case "url":
		return trim(oneLine(v))
	case "email":
		if !has(n, "multiple") {
			return trim(oneLine(v))
		}
		parts := strings.Split(oneLine(v), ",")
		for i := range parts {
			parts[i] = trim(parts[i])
		}
		return strings.Join(parts, ",")
	case "number":
		if _, ok := number(v); !ok {
			return ""
		}
		return v
	case "range":
		return sanitizeRange(n, v)
	case "color":
		if colour().MatchString(v) {
			return strings.ToLower(v)
		}
		return "#000000"
	case "date", "month", "week", "time", "datetime-local":
		if _, ok := moment(t, v); !ok {
			return ""
		}
		if t == "datetime-local" {
			return strings.Replace(v, " ", "T", 1)
		}
		return v
	}
	return v
}

var colour = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#[0-9a-fA-F]{6}$`) })

var (
	oneLiner  = strings.NewReplacer("\r", "", "\n", "")
	newlining = strings.NewReplacer("\r\n", "\n", "\r", "\n")
)

func oneLine(s string) string { return oneLiner.Replace(s) }

// newlines converts every line break to a newline.
func newlines(s string) string { return newlining.Replace(s) }

var floating = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(\d+(\.\d+)?|\.\d+)([eE][-+]?\d{1,4})?$`) })

// number parses a valid floating-point number (HTML 2.3.4.3).
func number(s string) (*big.Rat, bool) {
	if !floating().MatchString(s) {
		return nil, false
	}
	// A number that float64 cannot represent would be a very long fraction.
	if f, err := strconv.ParseFloat(s, 64); err != nil || f != 0 && (f < 1e-320 && f > -1e-320) {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

func nonNegative(s string) (int, bool) {
	s = trim(s)
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	return n, err == nil
}

// sanitizeRange moves a range's value within its bounds and onto a step
// (HTML 4.10.5.1.13).
func sanitizeRange(n *html.Node, v string) string {
	lo, ok := number(attr(n, "min"))
	if !ok {
		lo = new(big.Rat)
	}
	hi, ok := number(attr(n, "max"))
	if !ok {
		hi = big.NewRat(100, 1)
	}
	x, ok := number(v)
	if !ok {
		x = new(big.Rat).Add(lo, new(big.Rat).Quo(new(big.Rat).Sub(hi, lo), big.NewRat(2, 1)))
		if hi.Cmp(lo) < 0 {
			x = lo
		}
	}
	if x.Cmp(hi) > 0 {
		x = hi
	}
	if x.Cmp(lo) < 0 {
		x = lo
	}
	if step := stepOf(n, "range"); step != nil && hi.Cmp(lo) >= 0 {
		base := stepBase(n, "range")
		steps := new(big.Rat).Quo(new(big.Rat).Sub(x, base), step)
		steps.Add(steps, big.NewRat(1, 2))
		x = new(big.Rat).Add(base, new(big.Rat).Mul(floor(steps), step))
		if x.Cmp(hi) > 0 {
			x.Sub(x, step)
		}
		if x.Cmp(lo) < 0 {
			x.Add(x, step)
		}
	}
	return decimal(x)
}

func floor(r *big.Rat) *big.Rat {
	q := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean, and the denominator is above 0
	return new(big.Rat).SetInt(q)
}

// decimal writes a number as JavaScript does.
func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

var (
	dateForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{4,6})-(\d\d)-(\d\d)$`) })
	monthForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{4,6})-(\d\d)$`) })
	weekForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{4,6})-W(\d\d)$`) })
	timeForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?$`) })
)

// moment parses a date, month, week, time or local date and time (HTML 2.3.5)
// as the number that its type counts in: milliseconds, or months since 1970.
func moment(kind, s string) (*big.Rat, bool) {
	switch kind {
	case "date":
		return day(s)
	case "month":
		m := monthForm().FindStringSubmatch(s)
		if m == nil {
			return nil, false
		}
		y, mo := atoi(m[1]), atoi(m[2])
		return big.NewRat(int64((y-1970)*12+mo-1), 1), y > 0 && mo >= 1 && mo <= 12
	case "week":
		m := weekForm().FindStringSubmatch(s)
		if m == nil {
			return nil, false
		}
		y, w := atoi(m[1]), atoi(m[2])
		_, weeks := time.Date(y, 12, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
		first := time.Date(y, 1, 4, 0, 0, 0, 0, time.UTC)
		monday := first.AddDate(0, 0, -(int(first.Weekday())+6)%7+7*(w-1))
		return big.NewRat(monday.UnixMilli(), 1), y > 0 && w >= 1 && w <= weeks
	case "time":
		m := timeForm().FindStringSubmatch(s)
		if m == nil {
			return nil, false
		}
		h, mi, sec := atoi(m[1]), atoi(m[2]), atoi(m[3])
		ms := atoi((m[4] + "000")[:3])
		return big.NewRat(int64(((h*60+mi)*60+sec)*1000+ms), 1), h < 24 && mi < 60 && sec < 60
	case "datetime-local":
		i := strings.IndexAny(s, "T ")
		if i < 0 {
			return nil, false
		}
		d, ok := day(s[:i])
		t, ok2 := moment("time", s[i+1:])
		if !ok || !ok2 {
			return nil, false
		}
		return d.Add(d, t), true
	}
	return nil, false
}

func day(s string) (*big.Rat, bool) {
	m := dateForm().FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	y, mo, d := atoi(m[1]), atoi(m[2]), atoi(m[3])
	t := time.Date(y, time.Month(mo), d, 0, 0, 0, 0, time.UTC)
	return big.NewRat(t.UnixMilli(), 1), y > 0 && t.Year() == y && int(t.Month()) == mo && t.Day() == d
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// Takes reports whether n, an input whose value is set as a whole, accepts a value unchanged.
func Takes(n *html.Node, value string) bool {
	switch t := Type(n); t {
	case "number", "range":
		_, ok := number(value)
		return ok
	case "color":
		return colour().MatchString(value)
	case "date", "month", "week", "time", "datetime-local":
		_, ok := moment(t, value)
		return ok
	}
	return true
}
