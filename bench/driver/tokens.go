package driver

import "github.com/tiktoken-go/tokenizer"

// TokenCounter returns a function that counts the tokens of a text as o200k_base has them,
// -1 where it cannot.
func TokenCounter() (func(string) int, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return nil, err
	}
	return func(text string) int {
		n, err := codec.Count(text)
		if err != nil {
			return -1
		}
		return n
	}, nil
}
