package cdp

import "github.com/chromedp/cdproto/cdp/jsonv2"

// Encode returns the parameters of a command, encoded once for being sent often. It panics
// where they cannot be: a mistake of the build.
func Encode(params any) jsonv2.Value {
	b, err := jsonv2.Marshal(params)
	if err != nil {
		panic(err)
	}
	return b
}
