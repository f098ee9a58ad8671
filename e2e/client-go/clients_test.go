package clientgo

import (
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
)

var _ = dynamic.NewForConfig
var _ = informers.NewSharedInformerFactory
var _ = kubernetes.NewForConfig
var _ = restmapper.NewDiscoveryRESTMapper
var _ = clientcmd.BuildConfigFromFlags
var _ = leaderelection.NewLeaderElector

func TestX(t *testing.T) {}
