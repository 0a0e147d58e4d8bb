package deployed

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crdconform/crdconform/internal/memory"
)

// summary is what of a kubelet's /stats/summary is of interest. Its types are in k8s.io/kubelet, which is needed for nothing else.
type summary struct {
	Pods []struct {
		Ref struct {
			UID string `json:"uid"`
		} `json:"podRef"`
		Containers []struct {
			CPU struct {
				UsageCoreNanoSeconds int64 `json:"usageCoreNanoSeconds"`
			} `json:"cpu"`
			Memory struct {
				RSSBytes uint64 `json:"rssBytes"`
			} `json:"memory"`
		} `json:"containers"`
	} `json:"pods"`
}

// Usage returns what all pods of the webhook use together. Kubelets say so, which takes the right to get nodes/proxy, and look every ten
// seconds or so. There are no processes in it before they have looked at all the pods for the first time. Files do not count.
func (w *Webhook) Usage(ctx context.Context) (memory.Sample, error) {
	now, err := w.look(ctx)
	if err != nil {
		return memory.Sample{}, fmt.Errorf("webhook in the cluster: %w", err)
	}
	nodes := map[string][]corev1.Pod{}
	for _, pod := range now.behind() {
		if pod.Spec.NodeName != "" {
			nodes[pod.Spec.NodeName] = append(nodes[pod.Spec.NodeName], pod)
		}
	}
	var sum memory.Sample
	known := 0
	for node, pods := range nodes {
		text, err := w.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").
			Param("only_cpu_and_memory", "true").Do(ctx).Raw()
		if err != nil {
			return memory.Sample{}, fmt.Errorf("webhook in the cluster: what pods use on the node %s: %w", node, err)
		}
		var s summary
		if err = json.Unmarshal(text, &s); err != nil {
			return memory.Sample{}, fmt.Errorf("webhook in the cluster: what pods use on the node %s: %w", node, err)
		}
		known += s.add(pods, &sum)
	}
	if known < len(now.behind()) { // a part would look like a memory that shrinks and grows
		return memory.Sample{}, nil
	}
	return sum, nil
}

// add adds what the containers of some pods use, and returns of how many pods that is known.
func (s summary) add(pods []corev1.Pod, sum *memory.Sample) int {
	wanted := map[string]bool{}
	for _, pod := range pods {
		wanted[string(pod.UID)] = true
	}
	known := 0
	for _, pod := range s.Pods {
		if !wanted[pod.Ref.UID] {
			continue
		}
		before := sum.Processes
		for _, c := range pod.Containers {
			if c.Memory.RSSBytes == 0 {
				continue
			}
			sum.Resident, sum.Processes = sum.Resident+c.Memory.RSSBytes, sum.Processes+1
			sum.Processor += time.Duration(c.CPU.UsageCoreNanoSeconds)
		}
		if sum.Processes > before {
			known++
		}
	}
	return known
}
