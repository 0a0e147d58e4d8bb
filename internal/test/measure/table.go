package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/crdconform/crdconform/internal/test/figures"
)

// table prints what benchmarks measured as one table, and fails if a claim is missed.
func table(args []string) error {
	if len(args) != 1 {
		return errors.New("want the file that benchmarks wrote")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	all, err := figures.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if err := figures.Write(os.Stdout, all); err != nil {
		return err
	}
	missed := 0
	for _, c := range all {
		if c.Missed() {
			missed++
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d claims are missed", missed, len(all))
	}
	return nil
}
