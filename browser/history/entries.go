package history

// Entries is the answer of Page.getNavigationHistory.
type Entries struct {
	CurrentIndex int `json:"currentIndex"`
	Entries      []struct {
		ID    int64  `json:"id"`
		URL   string `json:"url"`
		Title string `json:"title"`
	} `json:"entries"`
}
