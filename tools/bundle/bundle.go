package main

import (
	"errors"

	"github.com/evanw/esbuild/pkg/api"
)

// bundle returns the module at entry and all that it imports as one script. The script
// does nothing where it has run in the same world before. It is ASCII: V8 keeps a script
// in two bytes a character where one of them is not Latin-1. whole: names and lines stay as they are.
func bundle(entry string, whole bool) ([]byte, error) {
	built := api.Build(api.BuildOptions{
		EntryPoints:       []string{entry},
		Bundle:            true,
		Format:            api.FormatESModule, // without exports: the statements, which the banner wraps
		Target:            api.ESNext,         // Chromium runs what is written: nothing is made older
		Charset:           api.CharsetASCII,
		MinifyWhitespace:  !whole,
		MinifyIdentifiers: !whole,
		MinifySyntax:      !whole,
		LegalComments:     api.LegalCommentsNone,
		Banner:            map[string]string{"js": `if(!Object.hasOwn(globalThis,"__bd"))(()=>{"use strict";`},
		Footer:            map[string]string{"js": "})();"},
	})
	if len(built.Errors) > 0 {
		return nil, errors.New(api.FormatMessages(built.Errors, api.FormatMessagesOptions{})[0])
	}
	return built.OutputFiles[0].Contents, nil
}
