package wireproof.adapter.driver;

import java.io.IOException;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;
import wireproof.adapter.Adapter;

/** An adapter for any driver of openmessaging-api 1.0.0-alpha that an `oms:` URL names. */
public final class Main {
    /** What the interface has. Give fewer with --claims: what is claimed must work. */
    static final List<String> CLAIMS = List.of(
            "storeTimestamp", "storeHost", "correlationId", "messageKey", "delayTime", "expireTime",
            "traceId", "transactionId", "deliveryCount", "priority", "partition", "transaction");

    private Main() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 0 || !arguments[0].startsWith("oms:")) {
            System.err.println("usage: oms-adapter oms:DRIVER://HOST:PORT/REGION "
                    + "[--claims NAME,NAME,…] [--group-key ATTRIBUTE]");
            System.exit(2);
        }
        PrintStream out = Adapter.takeOutput();
        Broker broker = new Broker(arguments[0], Adapter.option(arguments, "--group-key", ""));
        new Adapter(broker.operations(), out).run(System.in, broker.name(), broker.version(), claims(arguments));
        broker.close();
        System.exit(0);
    }

    private static List<String> claims(String[] arguments) {
        String given = Adapter.option(arguments, "--claims", String.join(",", CLAIMS));
        return Arrays.stream(given.split(",")).filter(each -> !each.isEmpty()).toList();
    }
}
