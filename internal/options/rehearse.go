package options

// rehearseOptions say which upgrade is rehearsed, with which objects.
func rehearseOptions() []Option {
	to := []string{rehearse}
	return []Option{
		{
			Key: "old", Flag: "old", Commands: to, Files: true, Whole: true,
			Help: "definitions of the old release; same syntax as --crd, or context://NAME for those in a cluster; can be repeated, oldest first",
		},
		{
			Key: "rehearse.programs", Flag: "old-program", Commands: to, Whole: true,
			Help: "program that serves the webhook of the old release, quoted as in a shell; can be repeated, one for each --old",
		},
		{Key: "rehearse.images", Commands: to},
		{
			Key: "rehearse.objects", Flag: "objects", Commands: to, Files: true, Whole: true,
			Help: "objects of your cluster: output of kubectl get -o yaml --show-managed-fields, folders, Velero backups, etcd snapshots, or - for standard input; can be repeated; default: generated",
		},
		{Key: "rehearse.fromContext", Flag: "from-context", Commands: to, Help: "context of a cluster to read the objects from; nothing is written there"},
		{
			Key: "redact", Flag: "redact", Commands: to, Whole: true,
			Help: "path in objects whose letters and digits are masked before any use, such as spec.password, spec.users[*].token or spec.tokens.*; can be repeated",
		},
		{
			Key: "rehearse.install", Default: "apply", Values: []string{"apply", "server-side", "replace"}, Commands: to,
		},
		{Key: "apiServer", Default: "embedded", Flag: "api-server", Commands: to, Help: "API server to rehearse on, which is started for the run"},
	}
}
