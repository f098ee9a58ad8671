import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/** Runs the tests against the server of a kubeconfig, whose path is the argument. */
final class Tests {
    private static final long PATIENCE_SECONDS = 20;
    private static int failures;

    private Tests() {}

    interface Test {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        String kubeconfig = Files.readString(Path.of(arguments[0]));
        Fabric8.run(kubeconfig);
        Official.run(kubeconfig);
        // The clients keep threads.
        System.exit(failures == 0 ? 0 : 1);
    }

    static void run(String name, Test test) {
        try {
            test.run();
            System.out.println("PASS " + name);
        } catch (Exception | AssertionError error) {
            failures++;
            System.out.println("FAIL " + name);
            error.printStackTrace(System.out);
        }
    }

    static void check(boolean holds, String claim) {
        if (!holds) {
            throw new AssertionError("not true: " + claim);
        }
    }

    /** Waits for an event, which must be the next one. */
    static void next(BlockingQueue<String> events, String expected) throws InterruptedException {
        String actual = events.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (!expected.equals(actual)) {
            throw new AssertionError("expected " + shorten(expected) + ", got " + shorten(actual));
        }
    }

    private static String shorten(String event) {
        return event == null || event.length() < 100 ? event : event.substring(0, 100) + "…";
    }
}
