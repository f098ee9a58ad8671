import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.Watch;
import com.google.gson.reflect.TypeToken;
import java.io.StringReader;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** The official client. It watches over HTTP. */
final class Official {
    private static final String NAMESPACE = "default";

    private Official() {}

    static void run(String kubeconfig) throws Exception {
        ApiClient client = Config.fromConfig(new StringReader(kubeconfig));
        client.setReadTimeout(0);
        CoreV1Api api = new CoreV1Api(client);
        Tests.run("official watch", () -> watch(client, api));
        Tests.run("official informer", () -> informer(client, api));
    }

    private static V1ConfigMap named(String name) {
        var meta = new V1ObjectMeta().name(name).labels(Map.of("test", "official"));
        return new V1ConfigMap().metadata(meta).data(Map.of("key", "1"));
    }

    /** A watch ends at its timeout with all events. */
    private static void watch(ApiClient client, CoreV1Api api) throws Exception {
        api.createNamespacedConfigMap(NAMESPACE, named("official-watch")).execute();
        var call = api.listNamespacedConfigMap(NAMESPACE)
                .labelSelector("test=official").watch(true).timeoutSeconds(2).buildCall(null);
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        var type = new TypeToken<Watch.Response<V1ConfigMap>>() {}.getType();
        try (Watch<V1ConfigMap> watch = Watch.createWatch(client, call, type)) {
            for (var event : watch) {
                events.add(event.type + " " + event.object.getMetadata().getName());
            }
        }
        Tests.next(events, "ADDED official-watch");
        api.deleteNamespacedConfigMap("official-watch", NAMESPACE).execute();
    }

    /** An informer lists, then follows the changes. */
    private static void informer(ApiClient client, CoreV1Api api) throws Exception {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        SharedInformerFactory factory = new SharedInformerFactory(client);
        var informer = factory.sharedIndexInformerFor(
                parameters -> api.listNamespacedConfigMap(NAMESPACE)
                        .labelSelector("test=official")
                        .resourceVersion(parameters.resourceVersion)
                        .timeoutSeconds(parameters.timeoutSeconds)
                        .watch(parameters.watch)
                        .buildCall(null),
                V1ConfigMap.class,
                V1ConfigMapList.class);
        informer.addEventHandler(new ResourceEventHandler<>() {
            @Override
            public void onAdd(V1ConfigMap map) {
                events.add("add " + map.getMetadata().getName());
            }

            @Override
            public void onUpdate(V1ConfigMap before, V1ConfigMap after) {}

            @Override
            public void onDelete(V1ConfigMap map, boolean unknown) {
                events.add("delete " + map.getMetadata().getName());
            }
        });
        factory.startAllRegisteredInformers();
        api.createNamespacedConfigMap(NAMESPACE, named("official-informer")).execute();
        Tests.next(events, "add official-informer");
        api.deleteNamespacedConfigMap("official-informer", NAMESPACE).execute();
        Tests.next(events, "delete official-informer");
        factory.stopAllRegisteredInformers();
    }
}
