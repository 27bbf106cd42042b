// Package person shows a tab to people as it changes, and gives the page what they do. It
// owns one screencast for each tab that somebody watches, whoever else does, the order of a
// person's input, and which fields they typed into. What they type is in no error, no log
// and no event. It decides nothing about who may watch or drive.
//
// Any goroutine may call its methods. A tab's input is given to the page one act at a time.
package person
