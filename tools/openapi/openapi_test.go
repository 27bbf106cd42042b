package openapi

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi/datamodel"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

type object = map[string]any

// printed is what the program prints, and a func that validates it against the schema of
// OpenAPI 3.1 that its makers publish.
func printed(t *testing.T) (document object, validate func(any) error) {
	t.Helper()
	cmd := exec.Command("go", "run", "./cmd/browserd", "schema", "--openapi")
	cmd.Dir = "../.."
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	if err := json.Unmarshal(out, &document); err != nil {
		t.Fatal(err)
	}
	rules, err := jsonschema.UnmarshalJSON(strings.NewReader(datamodel.OpenAPI31SchemaData))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("oas.json", rules); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("oas.json")
	if err != nil {
		t.Fatal(err)
	}
	return document, s.Validate
}

// It is OpenAPI 3.1, and each schema in it is one that tells a request that fits from one
// that does not.
func TestItIsOpenAPI(t *testing.T) {
	document, validate := printed(t)
	if err := validate(any(document)); err != nil {
		t.Error(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	schemas := 0
	for path, item := range document["paths"].(object) {
		if _, ok := item.(object)["post"]; !ok {
			continue
		}
		at := "openapi.json#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/post/"
		for _, part := range []string{"requestBody", "responses/200", "responses/default"} {
			if _, err := c.Compile(at + part + "/content/application~1json/schema"); err != nil {
				t.Error(err)
			}
			schemas++
		}
	}
	if schemas < 100 {
		t.Errorf("%d schemas of requests and answers", schemas)
	}
	click, err := c.Compile("openapi.json#/paths/~1v1~1click/post/requestBody/content/application~1json/schema")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{`{"ref":"@e1","count":2}`: true, `{"ref":"@e1","count":"two"}`: false, `{}`: false, `{"reff":"@e1"}`: false} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := click.Validate(value); (err == nil) != want {
			t.Errorf("%s: %v", body, err)
		}
	}
	// The test finds what is wrong.
	delete(document["info"].(object), "title")
	if validate(any(document)) == nil {
		t.Error("a document without a title is accepted")
	}
}
