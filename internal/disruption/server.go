package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/requirement"
)

// compactEvery is how often etcd forgets what was before: between two pages of each list.
const compactEvery = 100 * time.Millisecond

// serverAway is for how long there is no API server: less than the ten seconds after which leaders give up by default.
const serverAway = 3 * time.Second

// serverScenarios are about the API server, its definition and its etcd.
func serverScenarios() []Scenario {
	return []Scenario{
		{
			ID: requirement.DisruptionDefinitionStorage, Title: "another version is the storage version for a while", Hold: shortFault, affects: true,
			pods: "another version is the storage version for a while",
			do: func(ctx context.Context, st *stage) error {
				other, err := st.other()
				if err != nil {
					return err
				}
				st.begin("the storage version is %s", other)
				return st.change(ctx, storedAt(other))
			},
			undo: func(ctx context.Context, st *stage) error { return st.change(ctx, storedAt(st.storage)) },
			after: func(ctx context.Context, st *stage) error {
				return errors.Join(st.settled(ctx), st.rewrite(ctx))
			},
		},
		{
			ID: requirement.DisruptionDefinitionChanged, Title: "a description in each schema changes, and changes back", Hold: time.Second, affects: true,
			pods: "a description in each schema changes, and changes back",
			do: func(ctx context.Context, st *stage) error {
				st.begin("the definition is changed")
				return st.change(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) { describe(crd, changedFor) })
			},
			undo: func(ctx context.Context, st *stage) error {
				return st.change(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) { describe(crd, "") })
			},
		},
		{
			ID: requirement.DisruptionServerCompacted, Title: "etcd is compacted again and again while lists are read page by page", affects: true, programs: ownAPI,
			do: compact,
		},
		{
			ID: requirement.DisruptionServerRestarted, Title: "the API server is killed and started again after 3 s, and reads all objects anew", affects: true, programs: ownAPI,
			do: func(ctx context.Context, st *stage) error {
				st.begin("the API server is restarted")
				if err := st.server.Kill(); err != nil {
					return err
				}
				err := pause.For(ctx, serverAway)
				return errors.Join(err, st.server.Resume(context.WithoutCancel(ctx))) // half-way it would be down for good
			},
		},
	}
}

// other is a served version that is not the storage version.
func (st *stage) other() (string, error) {
	for _, v := range st.versions {
		if v != st.storage {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s serves no version but its storage version", st.name)
}

func storedAt(version string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
	}
}

// changedFor begins a description that was changed.
const changedFor = "Changed for a while by crdconform disrupt. "

// describe begins the description of each schema with a text, in place of the one of changedFor.
func describe(crd *apiextensionsv1.CustomResourceDefinition, begin string) {
	for _, v := range crd.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		schema := v.Schema.OpenAPIV3Schema
		schema.Description = begin + strings.TrimPrefix(schema.Description, changedFor)
	}
}

// rewrite writes all objects that are written at all, so that they are stored at the storage version again.
func (st *stage) rewrite(ctx context.Context) error {
	body := st.clients.Marking(fmt.Sprintf("rewritten-%d", st.port))
	for _, t := range st.things {
		if t.fixed {
			continue
		}
		if _, err := st.clients.Do(ctx, st.clients.Request(history.Patch, t.version, t.name, "", body)); err != nil {
			return fmt.Errorf("writing %s at the storage version: %w", t.name, err)
		}
	}
	return nil
}

// compact has etcd forget what was before, again and again.
func compact(ctx context.Context, st *stage) error {
	client, err := st.server.Client()
	if err != nil {
		return err
	}
	st.begin("etcd is compacted every %s", compactEvery)
	for end := time.Now().Add(shortFault); time.Now().Before(end); {
		if err := CompactOnce(ctx, client); err != nil {
			return err
		}
		if err := pause.For(ctx, compactEvery); err != nil {
			return err
		}
	}
	return nil
}

// CompactOnce has etcd forget what was before now.
func CompactOnce(ctx context.Context, client *clientv3.Client) error {
	now, err := client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("compacting etcd: %w", err)
	}
	// Where nothing was written since, there is nothing to forget.
	if _, err = client.Compact(ctx, now.Header.Revision); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compacting etcd: %w", err)
	}
	return nil
}
