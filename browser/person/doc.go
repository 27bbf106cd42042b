// Package person shows a tab to people as it changes, and sends their input to the page. It
// owns one screencast for each tab that has viewers, the order of a person's input, and
// which fields they typed into. What they type is in no error, no log and no event. It
// decides nothing about who may watch or drive.
//
// Any goroutine may call its methods. A tab's input is sent to the page one act at a time.
package person
