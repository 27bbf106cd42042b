// Package vuln holds no code: its test runs what make vuln runs, against a database
// of known vulnerabilities that it makes itself.
package vuln
