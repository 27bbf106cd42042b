package script

import "github.com/browserd/browserd/protocol"

// QueryOf returns what the client looks for, in one document, with the attributes that lines show.
func QueryOf(q protocol.Query, limit int, attrs []string) Query {
	asked := Query{Text: q.Text, Role: q.Role, Name: q.Name, Limit: limit, Attrs: attrs, Chain: q.Chain, Read: q.Read}
	if l := q.Locator; l != nil {
		asked = Query{
			Text: l.Text, Role: l.Role, Name: l.Name, Whole: true, Label: l.Label, TestID: l.TestID, CSS: l.CSS,
			Unrendered: q.Unrendered, Limit: limit, Attrs: attrs,
		}
	}
	return asked
}
