// Command go is an agent's loop on the Go client: it shows a model the page, runs the command
// that the model answers with, and shows it what that changed, until the model has done its
// task.
//
//	BROWSERD_TOKEN=… go run ./examples/go ws://127.0.0.1:9333/v1/ws http://127.0.0.1:8080/
//
// The page is the app of `browserd demo`; an app that a server renders will do as well, and
// then also without Chromium. The model is a function, in place of a language model: its
// task is to put oat milk on the list.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"time"

	browserd "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/snapshot/pagetext"
)

// model reads the page and answers with a command, or with none when the task is done.
func model(page string) (command string, params map[string]any) {
	find := func(role, name string) []string {
		return regexp.MustCompile(`(?m)^ *(@e\d+) \[` + role + `\b(.*)\] "` + name + `"$`).FindStringSubmatch(page)
	}
	field, add, items := find("textbox", "New item"), find("button", "Add"), find("link", "Items")
	for line := range strings.Lines(page) {
		if strings.Contains(line, "Oat milk") && !strings.Contains(line, "[textbox") {
			return "", nil
		}
	}
	switch {
	case field != nil && add != nil && strings.Contains(field[2], `value="Oat milk"`):
		return "click", map[string]any{"ref": add[1]}
	case field != nil && add != nil:
		return "type", map[string]any{"ref": field[1], "text": "Oat milk"}
	case items != nil:
		return "click", map[string]any{"ref": items[1]}
	}
	log.Fatalf("the model does not know what to do with\n%s", page)
	return "", nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: BROWSERD_TOKEN=… go run ./examples/go WEBSOCKET-URL APP-URL")
	}
	if err := loop(os.Args[1], os.Args[2]); err != nil {
		if e := (*browserd.Error)(nil); errors.As(err, &e) { // a language model reads it and tries something else
			log.Fatalf("%s: %s; next: %s", e.Code, e.Message, e.Next)
		}
		log.Fatal(err)
	}
}

func loop(url, app string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := browserd.Connect(ctx, browserd.Options{URL: url})
	if err != nil {
		return err
	}
	defer client.Close()
	var held browserd.PageText // the whole page, as the model would put it together of what it is shown
	command, params := "open", map[string]any{"url": app}
	for range 10 {
		var result pagetext.Result
		if err := client.Call(ctx, command, params, &result); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		if result.Delta != nil {
			fmt.Println(result.Delta.Text)
		} else if result.Snapshot != nil {
			fmt.Println(result.Snapshot.Text)
		}
		if err := held.Apply(result); err != nil {
			return err
		}
		if command, params = model(held.Text()); command == "" {
			break
		}
	}
	page, err := client.Read(ctx, browserd.ReadParams{Kind: "text"})
	if err != nil {
		return err
	}
	fmt.Println(page.Content)
	return nil
}
