package embedded

import (
	"flag"
	"fmt"
	"io"

	"k8s.io/klog/v2"
)

// LogTo sends the log of API servers to w, for the whole process: upstream's packages share one log. Without it the log goes
// to standard error.
func LogTo(w io.Writer) error {
	// One of these settings can be reached as a flag only.
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Parse([]string{"--logtostderr=false", "--stderrthreshold=FATAL"}); err != nil {
		return fmt.Errorf("directing the log of API servers: %w", err)
	}
	klog.SetOutput(w)
	return nil
}
