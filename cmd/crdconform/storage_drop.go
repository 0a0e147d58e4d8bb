package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/visible"
)

// dropper is the command safe-to-drop.
type dropper struct {
	storageLook
	ignoreRequests bool
}

func newStorageDrop(s streams) *cobra.Command {
	d := &dropper{storageLook: storageLook{streams: s, storageTarget: storageTarget{current: s.plugin}}}
	cmd := &cobra.Command{
		Use:   "safe-to-drop CRD VERSION",
		Short: "Prove that a version can be removed, or show what blocks it",
		Long: `safe-to-drop says whether a version can be removed from a definition. It can if it is not the storage version, no object is
stored at it, status.storedVersions does not contain it, no managed fields and no owner references name it, no manifest,
deployed release of Helm or annotation of kubectl apply does, and no client requests it. Each of these is a requirement,
storage.drop.*, which "crdconform explain" shows. It sends only GET requests.

Helm keeps its releases in Secrets; of these, only the names and versions of objects are kept. --set
storage.skipResources='[secrets]' leaves them out. Manifests are read from the files and folders of --manifests.

Whatever blocks the removal is listed by namespace and name, with a command that fixes it: the first ` + strconv.Itoa(storage.Shown) + ` of each kind
as text, and all as JSON.

The versions of stored objects are determined as by "crdconform storage status". If they cannot be determined, the answer
is not "safe". With --ignore-requests, requests for the version do not count.

Exit codes:
  0    safe
  1    not safe: something blocks it
  2    usage: bad flags, unknown context, no such definition or version, or the only version
  3    cannot tell: a permission or a file is missing, or something changed meanwhile
  130  interrupted`,
		Example: `  crdconform storage safe-to-drop crontabs.stable.example.com v1beta1 --context staging
  crdconform storage safe-to-drop crontabs.stable.example.com v1beta1 --context staging --audit-log audit.log
  crdconform storage safe-to-drop crontabs.stable.example.com v1beta1 --context staging --manifests ../deployments
  crdconform storage safe-to-drop crontabs.stable.example.com v1beta1 --context staging --output json
  crdconform storage safe-to-drop crontabs.stable.example.com v1beta1 --context staging \
    --set 'storage.etcd={endpoints: ["https://127.0.0.1:2379"], caFile: ca.crt, certFile: client.crt, keyFile: client.key}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("safe-to-drop takes the name of a definition and a version, such as crontabs.stable.example.com v1beta1")
			}
			return definitionName(args[0])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.check(); err != nil {
				return err
			}
			return d.judge(cmd.Context(), args[0], args[1])
		},
	}
	flags := cmd.Flags()
	d.bind(flags, "storage safe-to-drop")
	flags.BoolVar(&d.ignoreRequests, "ignore-requests", false, "ignore requests for the version")
	return cmd
}

func (d *dropper) judge(ctx context.Context, name, version string) error {
	all := d.output == "json"
	inventory, spool, err := d.inspect(ctx, []string{name}, storage.Options{Drop: version, KeepAll: all})
	if err != nil {
		return err
	}
	defer func() { _ = spool.Close() }() // a temporary file, whose content is of no further use
	definition := inventory.Definitions[0]
	found := definition.Version(version)
	if found == nil || !found.Defined {
		return fmt.Errorf("%s has no version %s; it has %s", name, version, strings.Join(definedVersions(definition), ", "))
	}
	if len(definedVersions(definition)) == 1 {
		return fmt.Errorf("%s is the only version of %s, and a definition needs one; add another version first, or delete the definition", version, name)
	}
	found.Requests.Ignored = d.ignoreRequests
	verdict := storage.Judge(inventory, definition, found)
	if all {
		err = verdictJSON(d.out, inventory, verdict, spool)
	} else {
		err = write(d.out, verdictText(definition, verdict))
	}
	if err != nil {
		return err
	}
	switch verdict.Answer {
	case storage.Safe:
		return nil
	case storage.NotSafe:
		return &exitError{code: exitViolates}
	case storage.CannotTell:
	}
	return &exitError{code: exitUnjudged}
}

func definedVersions(d *storage.Definition) []string {
	var names []string
	for _, v := range d.Versions {
		if v.Defined {
			names = append(names, v.Name)
		}
	}
	return names
}

// verdictText shows a verdict.
func verdictText(d *storage.Definition, verdict storage.Removal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s to drop %s of %s\n", strings.ToUpper(string(verdict.Answer)), verdict.Version, verdict.Definition)
	if verdict.Answer == storage.CannotTell {
		b.Reset()
		fmt.Fprintf(&b, "CANNOT TELL whether it is safe to drop %s of %s\n", verdict.Version, verdict.Definition)
	}
	for _, f := range verdict.Findings {
		b.WriteString(findingText(d, verdict, f))
	}
	for _, note := range d.Notes {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	return visible.Text(b.String())
}

// findingText shows what became of a requirement.
func findingText(d *storage.Definition, verdict storage.Removal, f storage.Condition) string {
	var b strings.Builder
	mark := map[storage.Answer]string{storage.Safe: "ok", storage.NotSafe: "BLOCKED", storage.CannotTell: "unknown"}[f.Answer]
	fmt.Fprintf(&b, "\n%-8s %s\n         %s\n", mark, f.Requirement, f.Text)
	if f.Answer == storage.Safe {
		return b.String()
	}
	if f.Mend != "" {
		fmt.Fprintf(&b, "         To fix it: %s\n", f.Mend)
	}
	for _, blocker := range f.First {
		by := ""
		if blocker.By != "" {
			by = " (" + blocker.By + ")"
		}
		fmt.Fprintf(&b, "         - %s%s\n", blocker, by)
		if blocker.Mend != "" {
			fmt.Fprintf(&b, "           %s\n", blocker.Mend)
		}
	}
	if more := f.Count - int64(len(f.First)); more > 0 && len(f.First) > 0 {
		b.WriteString("         " + visible.More(more) + "; --output json has all\n")
	}
	if v := d.Version(verdict.Version); f.Kind == "" && f.Count > 0 && v != nil {
		for n, asked := range v.Requests.Asked {
			if n == storage.Shown {
				b.WriteString("         " + visible.More(len(v.Requests.Asked)-n) + " clients; --output json has all\n")
				break
			}
			fmt.Fprintf(&b, "         - %s\n", asked.Text())
		}
	}
	for _, gap := range f.Gaps {
		fmt.Fprintf(&b, "         - %s: %s\n", gap.What, gap.Why)
		if gap.Mend != "" {
			fmt.Fprintf(&b, "           %s\n", gap.Mend)
		}
	}
	return b.String()
}

// verdictJSON writes a verdict with all blockers. There may be as many of these as there are objects, so they are not gathered.
func verdictJSON(w io.Writer, inventory *storage.Inventory, verdict storage.Removal, spool *storage.Spool) error {
	head, err := json.Marshal(struct {
		storage.Removal
		Inventory *storage.Inventory `json:"inventory"`
	}{verdict, inventory})
	if err != nil {
		return unjudged(err)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s,\n\"blockers\":[", head[:len(head)-1])
	comma := "\n"
	for blocker, err := range spool.All() {
		if err != nil {
			return unjudged(fmt.Errorf("reading the blockers: %w", err))
		}
		fmt.Fprintf(out, "%s%s", comma, blocker)
		comma = ",\n"
	}
	fmt.Fprint(out, "]}\n")
	if err := out.Flush(); err != nil && !errors.Is(err, syscall.EPIPE) {
		return unjudged(fmt.Errorf("output: %w", err))
	}
	return nil
}
