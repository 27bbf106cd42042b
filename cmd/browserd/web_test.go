package main

import (
	"context"
	"errors"
	"testing"
)

func TestSlotsAreGivenBack(t *testing.T) {
	s := make(slots, 2)
	first, err := s.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := s.take(ctx); err != gone {
		t.Errorf("a third slot of two: %v", err)
	}
	first()
	if _, err := s.take(t.Context()); err != nil {
		t.Errorf("a slot that was given back: %v", err)
	}
}
