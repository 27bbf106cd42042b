package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
)

// drawnSteps are the first steps of docs/transcript.md, which are drawn.
const drawnSteps = 3

// Measures of the terminal, in its own units.
const (
	charWidth  = 7.83 // of a 13 px monospaced font, rounded up
	lineHeight = 18.0
	barHeight  = 34.0 // of the window's title bar
	padding    = 16.0
)

// Colours of the terminal, which has its own background.
const (
	terminalColour = "#0d1117"
	barColour      = "#1b222c"
	plainColour    = "#d0d7de"
	dimColour      = "#8b949e"
	commandColour  = "#79b8ff"
	addedColour    = "#56d364"
	changedColour  = "#e3b341"
	removedColour  = "#ff7b72"
)

// drawSession draws the first steps of the transcript as a terminal shows them.
func drawSession(docs string) ([]byte, error) {
	file := filepath.Join(docs, "transcript.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, rest, ok := strings.Cut(string(text), "<!-- transcript -->\n```\n")
	shown, _, ok2 := strings.Cut(rest, "\n```\n")
	if !ok || !ok2 {
		return nil, errors.New(file + " has no transcript between its markers")
	}
	steps := strings.Split(strings.TrimSpace(shown), "\n\n→ ")
	if len(steps) < drawnSteps {
		return nil, fmt.Errorf("%s has %d steps, want %d and more", file, len(steps), drawnSteps)
	}
	return terminal(strings.Split(strings.Join(steps[:drawnSteps], "\n\n→ "), "\n")), nil
}

func terminal(lines []string) []byte {
	longest := 0
	for _, line := range lines {
		longest = max(longest, len([]rune(line)))
	}
	width, height := 2*padding+charWidth*float64(longest), barHeight+2*padding+lineHeight*float64(len(lines))
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-labelledby="title description" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="%s">`+"\n",
		n(width), n(height), n(width), n(height), plainColour)
	fmt.Fprintf(&b, "<title id=\"title\">A session of browserd</title>\n<desc id=\"description\">%s</desc>\n", html.EscapeString(strings.Join(lines, "\n")))
	fmt.Fprintf(&b, `<rect x="0.5" y="0.5" width="%s" height="%s" rx="8" fill="%s" stroke="%s" stroke-opacity="0.5"/>`+"\n", n(width-1), n(height-1), terminalColour, lineColour)
	fmt.Fprintf(&b, `<path d="M1 %s V8.5 A7.5 7.5 0 0 1 8.5 1 H%s A7.5 7.5 0 0 1 %s 8.5 V%s Z" fill="%s"/>`+"\n", n(barHeight), n(width-8.5), n(width-1), n(barHeight), barColour)
	for i := range 3 {
		fmt.Fprintf(&b, `<circle cx="%s" cy="%s" r="5.5" fill="%s" fill-opacity="0.6"/>`+"\n", n(padding+6+18*float64(i)), n(barHeight/2), dimColour)
	}
	text(&b, width/2, barHeight/2+4.5, `text-anchor="middle" fill="`+dimColour+`"`, "browserd demo")
	for i, line := range lines {
		if line == "" {
			continue
		}
		text(&b, padding, barHeight+padding+lineHeight*(float64(i)+0.75), `style="white-space:pre" xml:space="preserve"`+colourOf(line), line)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// colourOf is the colour of a line: of a command, or of what a delta says of it.
func colourOf(line string) string {
	colour := ""
	switch {
	case strings.HasPrefix(line, "→ "):
		return ` font-weight="600" fill="` + commandColour + `"`
	case strings.HasPrefix(line, "  + "):
		colour = addedColour
	case strings.HasPrefix(line, "  ~ "):
		colour = changedColour
	case strings.HasPrefix(line, "  - "):
		colour = removedColour
	case strings.HasPrefix(line, "  [snapshot] "), strings.HasPrefix(line, "  announced: "):
		colour = dimColour
	default:
		return ""
	}
	return ` fill="` + colour + `"`
}
