package clientgo

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
)

func TestTypedClientsReadTheirWrites(t *testing.T) {
	t.Parallel()
	forEachEncoding(t, func(t *testing.T, ctx context.Context, client kubernetes.Interface, ns string) {
		api := client.CoreV1().ConfigMaps(ns)
		created, err := api.Create(ctx, configMap("c", "k", "v"), metav1.CreateOptions{})
		must(t, err)
		found, err := api.Get(ctx, "c", metav1.GetOptions{})
		must(t, err)
		equal(t, "read", found, created)

		found.Data["k"] = "w"
		updated, err := api.Update(ctx, found, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "updated", updated.Data, map[string]string{"k": "w"})
		if updated.ResourceVersion == created.ResourceVersion {
			t.Fatal("the update did not change the resource version")
		}

		patch := []byte(`{"data":{"k":null,"l":"x"}}`)
		patched, err := api.Patch(ctx, "c", types.MergePatchType, patch, metav1.PatchOptions{})
		must(t, err)
		equal(t, "patched", patched.Data, map[string]string{"l": "x"})

		must(t, api.Delete(ctx, "c", metav1.DeleteOptions{}))
		_, err = api.Get(ctx, "c", metav1.GetOptions{})
		equal(t, "deleted", errors.IsNotFound(err), true)
	})
}

func TestStaleUpdateIsAConflict(t *testing.T) {
	t.Parallel()
	forEachEncoding(t, func(t *testing.T, ctx context.Context, client kubernetes.Interface, ns string) {
		api := client.CoreV1().ConfigMaps(ns)
		old, err := api.Create(ctx, configMap("c", "k", "v"), metav1.CreateOptions{})
		must(t, err)
		current := old.DeepCopy()
		current.Data["k"] = "current"
		_, err = api.Update(ctx, current, metav1.UpdateOptions{})
		must(t, err)
		old.Data["k"] = "stale"
		_, err = api.Update(ctx, old, metav1.UpdateOptions{})
		equal(t, "conflict", errors.IsConflict(err), true)
		found, err := api.Get(ctx, "c", metav1.GetOptions{})
		must(t, err)
		equal(t, "kept", found.Data["k"], "current")
	})
}

func TestPreconditionsHoldOnDelete(t *testing.T) {
	t.Parallel()
	forEachEncoding(t, func(t *testing.T, ctx context.Context, client kubernetes.Interface, ns string) {
		api := client.CoreV1().ConfigMaps(ns)
		created, err := api.Create(ctx, configMap("c"), metav1.CreateOptions{})
		must(t, err)
		err = api.Delete(ctx, "c", *metav1.NewPreconditionDeleteOptions("another"))
		equal(t, "conflict", errors.IsConflict(err), true)
		must(t, api.Delete(ctx, "c", *metav1.NewPreconditionDeleteOptions(string(created.UID))))
	})
}

func TestErrorsHaveReasonAndMessage(t *testing.T) {
	t.Parallel()
	forEachEncoding(t, func(t *testing.T, ctx context.Context, client kubernetes.Interface, ns string) {
		api := client.CoreV1().ConfigMaps(ns)
		_, err := api.Get(ctx, "none", metav1.GetOptions{})
		equal(t, "missing", err, `configmaps "none" not found`)
		_, err = api.Create(ctx, configMap("Not Valid"), metav1.CreateOptions{})
		equal(t, "invalid", errors.IsInvalid(err), true)
		_, err = api.Create(ctx, configMap("c"), metav1.CreateOptions{})
		must(t, err)
		_, err = api.Create(ctx, configMap("c"), metav1.CreateOptions{})
		equal(t, "twice", errors.IsAlreadyExists(err), true)
	})
}

func TestPagesContainTheWholeList(t *testing.T) {
	t.Parallel()
	forEachEncoding(t, func(t *testing.T, ctx context.Context, client kubernetes.Interface, ns string) {
		const count, page = 17, 5
		api := client.CoreV1().ConfigMaps(ns)
		for n := range count {
			_, err := api.Create(ctx, configMap(fmt.Sprintf("c%02d", n)), metav1.CreateOptions{})
			must(t, err)
		}
		var names []string
		options, revision := metav1.ListOptions{Limit: page}, ""
		for {
			list, err := api.List(ctx, options)
			must(t, err)
			for _, item := range list.Items {
				names = append(names, item.Name)
			}
			if revision == "" {
				revision = list.ResourceVersion
				equal(t, "remaining", *list.RemainingItemCount, count-page)
			}
			equal(t, "revision of a page", list.ResourceVersion, revision)
			if options.Continue = list.Continue; options.Continue == "" {
				break
			}
		}
		equal(t, "count", len(names), count)
		for n, name := range names {
			equal(t, "name", name, fmt.Sprintf("c%02d", n))
		}
	})
}

func TestWatchDeliversEventsInOrder(t *testing.T) {
	t.Parallel()
	forEachEncoding(t, func(t *testing.T, ctx context.Context, client kubernetes.Interface, ns string) {
		api := client.CoreV1().ConfigMaps(ns)
		before, err := api.List(ctx, metav1.ListOptions{})
		must(t, err)
		created, err := api.Create(ctx, configMap("c", "k", "v"), metav1.CreateOptions{})
		must(t, err)
		stream, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: before.ResourceVersion})
		must(t, err)
		defer stream.Stop()
		event := func(kind watch.EventType) *corev1.ConfigMap {
			t.Helper()
			found := next(t, ctx, stream.ResultChan())
			equal(t, "event", found.Type, kind)
			return found.Object.(*corev1.ConfigMap)
		}
		equal(t, "added", event(watch.Added), created)
		created.Data["k"] = "w"
		_, err = api.Update(ctx, created, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "modified", event(watch.Modified).Data["k"], "w")
		must(t, api.Delete(ctx, "c", metav1.DeleteOptions{}))
		equal(t, "last state", event(watch.Deleted).Data["k"], "w")
	})
}

func TestDynamicClientHandlesAnyKind(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	client, err := dynamic.NewForConfig(config(t, runtime.ContentTypeJSON))
	must(t, err)
	ns := namespace(t, ctx, clients(t, runtime.ContentTypeJSON))
	api := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(ns)
	labels := map[string]any{"app": "d"}
	_, err = api.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   map[string]any{"name": "d"},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
			},
		},
	}}, metav1.CreateOptions{})
	must(t, err)
	patched, err := api.Patch(ctx, "d", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
	must(t, err)
	replicas, _, err := unstructured.NestedInt64(patched.Object, "spec", "replicas")
	must(t, err)
	equal(t, "replicas", replicas, 3)
	list, err := api.List(ctx, metav1.ListOptions{})
	must(t, err)
	equal(t, "items", len(list.Items), 1)
	equal(t, "kind of an item", list.Items[0].GetKind(), "Deployment")
	must(t, api.Delete(ctx, "d", metav1.DeleteOptions{}))
	_, err = api.Get(ctx, "d", metav1.GetOptions{})
	equal(t, "deleted", errors.IsNotFound(err), true)
}

// The first request of a connection has frames of HTTP/2's smallest size, so this head takes dozens of them.
func TestLargeFirstHeadIsServed(t *testing.T) {
	t.Parallel()
	config := config(t, runtime.ContentTypeJSON)
	config.Dial = (&net.Dialer{}).DialContext
	config.UserAgent = strings.Repeat("x", 600_000)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	_, err = client.CoreV1().Namespaces().Get(bounded(t), "default", metav1.GetOptions{})
	must(t, err)
}

func TestDiscoveryMapsKindsToResources(t *testing.T) {
	t.Parallel()
	discovery := clients(t, runtime.ContentTypeJSON).Discovery()
	version, err := discovery.ServerVersion()
	must(t, err)
	equal(t, "version", version.Major+"."+version.Minor, "1.37")
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery))
	check := func(group, kind, resource, scope string) {
		t.Helper()
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
		must(t, err)
		equal(t, kind, mapping.Resource.Resource+" "+mapping.Resource.Version+" "+string(mapping.Scope.Name()), resource+" v1 "+scope)
	}
	check("", "Pod", "pods", "namespace")
	check("", "Node", "nodes", "root")
	check("apps", "Deployment", "deployments", "namespace")
	check("coordination.k8s.io", "Lease", "leases", "namespace")
	check("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", "root")
}
