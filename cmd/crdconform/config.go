package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/config"
)

func newConfig(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the effective configuration, or the schema of its file",
		Long: `config shows the effect of crdconform.yaml. The file says what to check; "crdconform init" writes one from your definitions.
Settings that are not in the file have their default values.`,
		Example: `  crdconform config view
  crdconform config schema`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigView(s), newConfigSchema(s))
	return cmd
}

func newConfigView(s streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "view",
		Short: "Show the effective configuration, and where each value comes from",
		Long: `view prints the whole configuration as YAML. A comment on each line says where the value comes from: a line of the file, or
the defaults. The output is itself a valid configuration. If the file has errors, view shows them all instead, with their lines.`,
		Example: `  crdconform config view
  crdconform config view --config deploy/crdconform.yaml`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			c, err := readConfig(file)
			if err != nil {
				return err
			}
			text := c.View()
			if file == "" && c.Origin("kind") == "default" {
				text = "# There is no " + config.FileName + " here; \"crdconform init CRD...\" writes one.\n" + text
			}
			return write(s.out, text)
		},
	}
	bindConfig(cmd, &file)
	return cmd
}

func newConfigSchema(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of the configuration file",
		Long: `schema prints the JSON schema of crdconform.yaml, draft 2020-12, for editors that complete keys and mark errors. Files that
"crdconform init" writes refer to it in their first line.`,
		Example: `  crdconform config schema > crdconform.schema.json`,
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return write(s.out, string(config.Schema())) },
	}
}

// bindConfig adds the flag --config to a command.
func bindConfig(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", "", "configuration file; default: "+config.FileName+" in the current folder, if it exists")
	// It fails for flags that do not exist only.
	_ = cmd.MarkFlagFilename("config", "yaml", "yml", "json")
}

// readConfig reads the configuration file that --config names. Without a name, it reads crdconform.yaml of the folder that the
// command runs in; when that is not there, the defaults are in force.
func readConfig(file string) (config.Config, error) {
	if file != "" {
		return config.Read(file)
	}
	c, err := config.Read(config.FileName)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Default(), nil
	}
	return c, err
}
