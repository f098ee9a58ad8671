import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** The fabric8 client. It watches over WebSockets. */
final class Fabric8 {
    private static final String NAMESPACE = "default";

    private Fabric8() {}

    static void run(String kubeconfig) throws Exception {
        try (KubernetesClient client =
                new KubernetesClientBuilder().withConfig(Config.fromKubeconfig(kubeconfig)).build()) {
            Tests.run("fabric8 watch", () -> watch(client));
            Tests.run("fabric8 watch ends at the client", () -> watchEnds(client));
            Tests.run("fabric8 informer", () -> informer(client));
        }
    }

    private static ConfigMap named(String name, String value) {
        return new ConfigMapBuilder()
                .withNewMetadata().withName(name).withNamespace(NAMESPACE).addToLabels("test", "fabric8").endMetadata()
                .addToData("key", value)
                .build();
    }

    /** A change arrives while the watch is open. */
    private static void watch(KubernetesClient client) throws Exception {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        Watcher<ConfigMap> watcher = new Watcher<>() {
            @Override
            public void eventReceived(Action action, ConfigMap object) {
                events.add(action + " " + object.getMetadata().getName() + " " + object.getData().get("key"));
            }

            @Override
            public void onClose(WatcherException cause) {
                events.add("closed " + cause);
            }
        };
        var maps = client.configMaps().inNamespace(NAMESPACE);
        try (var watch = maps.withLabel("test", "fabric8").watch(watcher)) {
            maps.resource(named("fabric8-watch", "1")).create();
            Tests.next(events, "ADDED fabric8-watch 1");
            maps.withName("fabric8-watch").edit(map -> {
                map.getData().put("key", "ü".repeat(100_000));
                return map;
            });
            Tests.next(events, "MODIFIED fabric8-watch " + "ü".repeat(100_000));
            maps.withName("fabric8-watch").delete();
            Tests.next(events, "DELETED fabric8-watch " + "ü".repeat(100_000));
        }
    }

    /** The client closes a watch, and the server ends the connection. */
    private static void watchEnds(KubernetesClient client) throws Exception {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        Watcher<ConfigMap> watcher = new Watcher<>() {
            @Override
            public void eventReceived(Action action, ConfigMap object) {}

            @Override
            public void onClose() {
                events.add("closed");
            }

            @Override
            public void onClose(WatcherException cause) {
                events.add("failed " + cause);
            }
        };
        client.configMaps().inNamespace(NAMESPACE).watch(watcher).close();
        Tests.next(events, "closed");
    }

    /** An informer lists, then follows the changes. */
    private static void informer(KubernetesClient client) throws Exception {
        var maps = client.configMaps().inNamespace(NAMESPACE);
        maps.resource(named("fabric8-before", "1")).create();
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        ResourceEventHandler<ConfigMap> handler = new ResourceEventHandler<>() {
            @Override
            public void onAdd(ConfigMap map) {
                events.add("add " + map.getMetadata().getName());
            }

            @Override
            public void onUpdate(ConfigMap before, ConfigMap after) {
                events.add("update " + after.getMetadata().getName() + " " + after.getData().get("key"));
            }

            @Override
            public void onDelete(ConfigMap map, boolean unknown) {
                events.add("delete " + map.getMetadata().getName());
            }
        };
        try (var informer = maps.withLabel("test", "fabric8").inform(handler)) {
            Tests.next(events, "add fabric8-before");
            maps.resource(named("fabric8-after", "1")).create();
            Tests.next(events, "add fabric8-after");
            maps.withName("fabric8-after").edit(map -> {
                map.getData().put("key", "2");
                return map;
            });
            Tests.next(events, "update fabric8-after 2");
            maps.withName("fabric8-before").delete();
            Tests.next(events, "delete fabric8-before");
            maps.withName("fabric8-after").delete();
            Tests.next(events, "delete fabric8-after");
            Tests.check(informer.isWatching(), "the informer still watches");
        }
    }
}
