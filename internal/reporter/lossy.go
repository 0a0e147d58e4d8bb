package reporter

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

// Loss is a field that a conversion loses, as an entry of lossy in crdconform.yaml.
type Loss struct {
	Path, Group, Kind, From, Through string
	Reason                           string // what was seen

	Meant bool // whether it may be, because the other version has no field of that name, and nothing else happens to the field
}

// Losses returns the fields that failed requirements found lost or changed, those first that may be meant.
func Losses(r *reports.Report) []Loss {
	var losses []Loss
	kept, alone := notMeant(r), between(r)
	for _, result := range r.Results {
		if r.Webhook == nil || !r.Failing(result) {
			continue
		}
		at := slices.IndexFunc(r.Webhook.Kinds, func(k reports.Kind) bool { return k.Definition == result.Subject })
		for _, f := range result.Findings {
			if at < 0 || f.Field == "" || f.Effect != "lost" && f.Effect != "changed" {
				continue
			}
			k := r.Webhook.Kinds[at]
			l := Loss{Path: f.Field, Group: k.Group, Kind: k.Kind, From: f.From, Through: f.To, Reason: brief(f.Message)}
			l.Meant = f.Meant() && !kept[[2]string{result.Subject, f.Field}] && alone[result.Subject].words == ""
			if !slices.ContainsFunc(losses, func(other Loss) bool {
				other.Reason = l.Reason
				return other == l
			}) {
				losses = append(losses, l)
			}
		}
	}
	slices.SortStableFunc(losses, func(a, b Loss) int {
		switch {
		case a.Meant == b.Meant:
			return 0
		case a.Meant:
			return -1
		}
		return 1
	})
	return losses
}

// notMeant returns the fields of subjects that an entry must not hide: those that are also lost where that looks like a bug, those in their place, and those
// to which, or below which, values come back changed or in another order. Conversions keep something of these, whatever else looked lost.
func notMeant(r *reports.Report) map[[2]string]bool {
	fields := map[[2]string]bool{}
	for _, result := range r.Results {
		for _, f := range result.Findings {
			switch f.Effect {
			case "lost":
				if !f.Meant() {
					fields[[2]string{result.Subject, f.Field}] = true
					fields[[2]string{result.Subject, f.Place}] = true
				}
			case "changed", "moved", "differs", "added":
				for _, at := range append(above(f.Field), f.Field) {
					fields[[2]string{result.Subject, at}] = true
				}
			}
		}
	}
	return fields
}

// Line is the entry in a line, without what was seen.
func (l Loss) Line() string { return "- {" + l.entry(", ", "TODO") + "}" }

func (l Loss) entry(separator, reason string) string {
	var fields []string
	for _, field := range [][2]string{{"path", l.Path}, {"group", l.Group}, {"kind", l.Kind}, {"from", l.From}, {"through", l.Through}, {"reason", reason}} {
		if field[1] != "" {
			fields = append(fields, field[0]+": "+strconv.Quote(visible.Text(field[1])))
		}
	}
	return strings.Join(fields, separator)
}

// Lossy writes the key lossy of crdconform.yaml with what may be meant. What looks like a bug is in comments, so that nobody
// declares it by accident.
func Lossy(r *reports.Report, w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Losses that crdconform found, for crdconform.yaml. Keep those that are intended, and say why in the reason.\n")
	b.WriteString("lossy:")
	losses := Losses(r)
	if len(losses) == 0 || !losses[0].Meant {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for i, l := range losses {
		if !l.Meant && (i == 0 || losses[i-1].Meant) {
			b.WriteString("# These look like bugs: the other version is not known to lack the field, or values of it come back, if only changed.\n")
		}
		entry := "- " + l.entry("\n  ", "TODO: "+l.Reason)
		if !l.Meant {
			entry = "# " + strings.ReplaceAll(entry, "\n", "\n# ")
		}
		b.WriteString(entry + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
