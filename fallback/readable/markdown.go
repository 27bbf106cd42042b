package readable

import (
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

// Markdown is what is to be read, as CommonMark with tables, strikethrough and
// task boxes as GitHub writes them; links and pictures are absolute where the
// page's URL is known. Above 2 MB of HTML it is Text. It uses up the Page:
// Text is called before it, or not at all.
func (p *Page) Markdown() (md string) {
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
	out, err := markdowner().ConvertNode(p.node)
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
