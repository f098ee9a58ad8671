// Command restarts loads a Kubernetes API server while its replicas restart: requests at a steady rate, and watches that
// resume from the last revision of the previous watch. It runs until its standard input ends, then prints a report as JSON:
// failed requests, gaps between watches, and relists. KUBECONFIG selects the server.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	namespace = "restarts"
	objects   = 50
	// perClient is the number of watches per connection.
	perClient = 50
	patience  = 10 * time.Second
	again     = 50 * time.Millisecond
	shown     = 20
)

var (
	rate    = flag.Int("rate", 500, "requests per second")
	watches = flag.Int("watches", 1000, "watches")
)

// report is the result, printed as JSON.
type report struct {
	Requests, Failed, Watches, Ended, Relists int64
	// AwayMillis are the median, the 99th percentile and the maximum of the time between the end of a watch and the
	// next one, in milliseconds.
	AwayMillis [3]int64
	// Failures are examples of errors; the constant shown is their maximum number.
	Failures []string
}

// crowd is the state of all clients: counters, and the observations for the report.
type crowd struct {
	requests, failed, ended, relists, open atomic.Int64

	mutex    sync.Mutex
	away     []time.Duration
	failures []string
}

func (c *crowd) fails(what string, err error) {
	c.failed.Add(1)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.failures) < shown {
		c.failures = append(c.failures, fmt.Sprintf("%s %s: %v", time.Now().Format("15:04:05.000"), what, err))
	}
}

// client returns a client with a separate connection: client-go does not share connections if Dial is set.
func client(config *rest.Config) kubernetes.Interface {
	own := rest.CopyConfig(config)
	own.QPS = -1
	own.Dial = (&net.Dialer{Timeout: patience}).DialContext
	return must(kubernetes.NewForConfig(own))
}

// watch watches an object. When a watch ends, the next one starts at its last revision.
func (c *crowd) watch(ctx context.Context, client kubernetes.Interface, name string, started *sync.WaitGroup) {
	maps, only := client.CoreV1().ConfigMaps(namespace), "metadata.name="+name
	list := must(maps.List(ctx, metav1.ListOptions{ResourceVersion: "0", FieldSelector: only}))
	at, first := list.ResourceVersion, true
	var since time.Time
	for ctx.Err() == nil {
		options := metav1.ListOptions{ResourceVersion: at, FieldSelector: only, AllowWatchBookmarks: true}
		events, err := maps.Watch(ctx, options)
		if err != nil {
			if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
				c.relists.Add(1)
				at = "0"
			}
			time.Sleep(again)
			continue
		}
		if first {
			first = false
			started.Done()
		} else {
			c.mutex.Lock()
			c.away = append(c.away, time.Since(since))
			c.mutex.Unlock()
		}
		c.open.Add(1)
		at = c.follow(events, at)
		c.open.Add(-1)
		since = time.Now()
		c.ended.Add(1)
	}
}

// follow reads a watch to its end and returns its last revision, or "0" if that revision is too old.
func (c *crowd) follow(events watch.Interface, at string) string {
	for event := range events.ResultChan() {
		if status, isStatus := event.Object.(*metav1.Status); isStatus {
			if status.Code == 410 {
				c.relists.Add(1)
				return "0"
			}
			continue
		}
		if object, isObject := event.Object.(metav1.Object); isObject {
			at = object.GetResourceVersion()
		}
	}
	return at
}

// object returns the name of one of the permanent objects.
func object(n int) string {
	return fmt.Sprintf("object-%d", n%objects)
}

// request sends one of several requests, and counts its failure.
func (c *crowd) request(ctx context.Context, client kubernetes.Interface, n int) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	maps, name := client.CoreV1().ConfigMaps(namespace), object(n/10)
	var what string
	var err error
	switch n % 10 {
	case 0:
		what = "patch"
		patch := fmt.Sprintf(`{"data": {"n": "%d"}}`, n)
		_, err = maps.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	case 1:
		what = "create and delete"
		once := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("once-%d", n)}}
		if _, err = maps.Create(ctx, once, metav1.CreateOptions{}); err == nil {
			err = maps.Delete(ctx, once.Name, metav1.DeleteOptions{})
		}
	case 2:
		what = "list"
		_, err = maps.List(ctx, metav1.ListOptions{Limit: 10})
	default:
		what = "get"
		_, err = maps.Get(ctx, name, metav1.GetOptions{})
	}
	c.requests.Add(1)
	if err != nil {
		c.fails(what, err)
	}
}

func (c *crowd) load(ctx context.Context, clients []kubernetes.Interface) *sync.WaitGroup {
	var running sync.WaitGroup
	ticks := time.NewTicker(time.Second / time.Duration(*rate))
	running.Go(func() {
		defer ticks.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			running.Go(func() { c.request(context.Background(), clients[n%len(clients)], n) })
		}
	})
	return &running
}

func (c *crowd) report() report {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	sort.Slice(c.away, func(a, b int) bool { return c.away[a] < c.away[b] })
	r := report{Requests: c.requests.Load(), Failed: c.failed.Load(), Watches: c.open.Load(), Ended: c.ended.Load(),
		Relists: c.relists.Load(), Failures: c.failures}
	if last := len(c.away) - 1; last >= 0 {
		for n, at := range []int{last / 2, last * 99 / 100, last} {
			r.AwayMillis[n] = c.away[at].Milliseconds()
		}
	}
	return r
}

func main() {
	flag.Parse()
	config := must(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first := client(config)
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := first.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		must(0, err)
	}
	for n := range objects {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: object(n)}}
		_, err := first.CoreV1().ConfigMaps(namespace).Create(ctx, configMap, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			must(0, err)
		}
	}
	c, clients := &crowd{}, []kubernetes.Interface{}
	var started sync.WaitGroup
	for n := range *watches {
		if n%perClient == 0 {
			clients = append(clients, client(config))
		}
		started.Add(1)
		go c.watch(ctx, clients[len(clients)-1], object(n), &started)
	}
	started.Wait()
	fmt.Println("ready")
	loading, stop := context.WithCancel(ctx)
	running := c.load(loading, clients)
	must(io.Copy(io.Discard, os.Stdin))
	stop()
	running.Wait()
	must(0, json.NewEncoder(os.Stdout).Encode(c.report()))
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}
