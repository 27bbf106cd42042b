package readable

import (
	"context"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// Markdown is what is to be read, as CommonMark with tables, strikethrough and
// task boxes as GitHub writes them; links and pictures are absolute where the
// page's URL is known. Above 2 MB of HTML it is Text. It uses up the Page:
// Text is called before it, or not at all. Where ctx ends first it is the text, or nothing.
func (p *Page) Markdown(ctx context.Context) (md string) {
	if ctx.Err() != nil {
		return ""
	}
	if p.node == nil || p.large {
		return p.Text()
	}
	// What is left of a page that the converter cannot cope with is its text.
	plain := p.Text()
	defer func() {
		if recover() != nil {
			md = plain
		}
	}()
	tidy(p.node)
	if p.base != nil {
		absolute(p.node, p.base)
	}
	to := markdowner()
	// It takes no context, and is left by a panic.
	check := func() {
		if err := ctx.Err(); err != nil {
			panic(err)
		}
	}
	for _, between := range []int{converter.PriorityEarly - 1, converter.PriorityEarly + 1, converter.PriorityStandard - 1, converter.PriorityStandard + 1} {
		to.Register.PreRenderer(func(converter.Context, *html.Node) { check() }, between)
	}
	to.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		check()
		return converter.RenderTryNext
	}, converter.PriorityEarly-1)
	out, err := to.ConvertNode(p.node)
	if err != nil {
		return plain
	}
	return strings.TrimSpace(marks.Replace(string(out)))
}

// markdowner is made anew each time: a converter is not safe to share.
func markdowner() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithHeaderPromotion(true), table.WithSkipEmptyRows(true)),
	))
}
