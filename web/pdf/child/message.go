package child

// Name is the name (argv[0]) under which a program reads one PDF and ends.
const Name = "browserd-pdf"

// Prepare is the second argument with which the process compiles the library, and ends.
const Prepare = "prepare"

// Limits of one PDF.
const (
	MaxPages = 2000    // whose text is read
	MaxChars = 2 << 20 // bytes of text of all pages
)

// Message is one of the JSON values that the child writes, one after the other: Ready, then
// Count and Title, then each page, or Failed. The daemon trusts none of them.
type Message struct {
	Ready  bool    `json:"ready,omitempty"`
	Count  int     `json:"count,omitempty"` // pages of the PDF
	Title  string  `json:"title,omitempty"`
	Page   *string `json:"page,omitempty"`   // the text of the next page
	Failed string  `json:"failed,omitempty"` // password, encryption, damaged; of a page: page
}
