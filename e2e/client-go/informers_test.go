package clientgo

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Informers start with a streaming list (WatchList), which client-go does by default.
func TestInformersFollowEveryChange(t *testing.T) {
	t.Parallel()
	forEachEncoding(t, func(t *testing.T, ctx context.Context, client kubernetes.Interface, ns string) {
		api := client.CoreV1().ConfigMaps(ns)
		_, err := api.Create(ctx, configMap("before", "k", "v"), metav1.CreateOptions{})
		must(t, err)

		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(ns))
		informer := factory.Core().V1().ConfigMaps()
		seen := make(chan string, 16)
		_, err = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { seen <- "added " + object.(*corev1.ConfigMap).Name },
			UpdateFunc: func(_, object any) { seen <- "updated to " + object.(*corev1.ConfigMap).Data["k"] },
			DeleteFunc: func(object any) { seen <- "deleted " + object.(*corev1.ConfigMap).Name },
		})
		must(t, err)
		running, stop := context.WithCancel(ctx)
		defer factory.Shutdown()
		defer stop()
		factory.Start(running.Done())
		if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
			t.Fatal("the informer did not sync in time")
		}
		equal(t, "there at first", next(t, ctx, seen), "added before")

		created, err := api.Create(ctx, configMap("after", "k", "v"), metav1.CreateOptions{})
		must(t, err)
		equal(t, "created", next(t, ctx, seen), "added after")
		created.Data["k"] = "w"
		updated, err := api.Update(ctx, created, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "updated", next(t, ctx, seen), "updated to w")
		cached, err := informer.Lister().ConfigMaps(ns).Get("after")
		must(t, err)
		equal(t, "cached", cached, updated)
		must(t, api.Delete(ctx, "before", metav1.DeleteOptions{}))
		equal(t, "deleted", next(t, ctx, seen), "deleted before")
		left, err := informer.Lister().List(labels.Everything())
		must(t, err)
		equal(t, "left", len(left), 1)
	})
}

// The second candidate takes over after the first one gives up: at once if the lease was released. If a
// concurrent renewal makes the release a conflict, it takes over when the lease expires.
func TestLeadershipPassesOn(t *testing.T) {
	t.Parallel()
	forEachEncoding(t, func(t *testing.T, ctx context.Context, client kubernetes.Interface, ns string) {
		leads := make(chan string, 4)
		candidate := func(name string) (give context.CancelFunc, gone <-chan struct{}) {
			lock, err := resourcelock.New(resourcelock.LeasesResourceLock, ns, "lock", client.CoreV1(),
				client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
			must(t, err)
			elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock:            lock,
				LeaseDuration:   5 * time.Second,
				RenewDeadline:   4 * time.Second,
				RetryPeriod:     200 * time.Millisecond,
				ReleaseOnCancel: true,
				Name:            name,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) { leads <- name },
					OnStoppedLeading: func() {},
				},
			})
			must(t, err)
			own, cancel := context.WithCancel(ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				elector.Run(own)
			}()
			return cancel, ended
		}
		holder := func() string {
			lease, err := client.CoordinationV1().Leases(ns).Get(ctx, "lock", metav1.GetOptions{})
			must(t, err)
			return *lease.Spec.HolderIdentity
		}

		firstGivesUp, firstGone := candidate("first")
		equal(t, "leader", next(t, ctx, leads), "first")
		secondGivesUp, secondGone := candidate("second")
		equal(t, "holder", holder(), "first")
		firstGivesUp()
		<-firstGone
		equal(t, "next leader", next(t, ctx, leads), "second")
		equal(t, "next holder", holder(), "second")
		secondGivesUp()
		<-secondGone
	})
}
