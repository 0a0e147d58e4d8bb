package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan is the command man, which packages are made with. Users meet its pages by "man crdconform".
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `man writes a manual page for each command to a folder. The pages have the date in $SOURCE_DATE_EPOCH, so that two builds of a
release produce the same pages, or today's date if it is not set.`,
		Example: `  crdconform man man/man1`,
		Hidden:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("man requires the folder to write to")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return unjudged(err)
			}
			root := cmd.Root()
			root.InitDefaultCompletionCmd()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "crdconform " + toolVersion(), Manual: "crdconform manual"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return unjudged(fmt.Errorf("manual pages: %w", err))
			}
			return nil
		},
	}
}
