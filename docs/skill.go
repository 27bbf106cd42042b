// Package docs holds the documentation, of which the program prints the part that
// teaches a model to use it.
package docs

import _ "embed"

// Skill is SKILL.md.
//
//go:embed SKILL.md
var Skill string
