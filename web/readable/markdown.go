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

// Markdown returns the readable part as CommonMark, with GitHub's tables, strikethrough and
// task lists. Links and pictures are absolute if the page's URL is known. Above 2 MB of
// HTML it returns Text. It changes the Page: call Text before it or not at all. If ctx
// ends first it returns the text, or "".
func (p *Page) Markdown(ctx context.Context) (md string) {
	if ctx.Err() != nil {
		return ""
	}
	if p.node == nil || p.large {
		return p.Text()
	}
	// The result if the converter panics.
	plain := p.Text()
	defer func() {
		if recover() != nil {
			md = plain
		}
	}()
	prepareMarkdown(p.node)
	if p.base != nil {
		absolute(p.node, p.base)
	}
	to := newConverter()
	// The converter accepts no context: a panic ends it.
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
	return strings.TrimSpace(placeholders.Replace(string(out)))
}

// newConverter returns a converter for one page: converters are not safe to share.
func newConverter() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithHeaderPromotion(true), table.WithSkipEmptyRows(true)),
	))
}
