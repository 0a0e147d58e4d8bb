// Command table prints what benchmarks measured as one table, and fails if a claim is missed.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/crdconform/crdconform/internal/test/figures"
)

func main() {
	if err := table(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

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
