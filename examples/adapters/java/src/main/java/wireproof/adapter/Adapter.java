package wireproof.adapter;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.openmessaging.exception.OMSRuntimeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Speaks the adapter protocol on standard input and output, for any driver of openmessaging-api
 * 1.0.0-alpha that its `oms:` URL names. A request that waits keeps no other one waiting.
 */
public final class Adapter {
    /** What the interface has. Give fewer with --claims: what is claimed must work. */
    static final List<String> CLAIMS = List.of(
            "storeTimestamp", "storeHost", "correlationId", "messageKey", "delayTime", "expireTime",
            "traceId", "transactionId", "deliveryCount", "priority", "partition", "transaction");
    static final List<String> OPERATIONS = List.of(
            "create_destination", "send", "prepare", "commit", "rollback", "receive", "ack");

    private final Broker broker;
    private final PrintStream out;
    private final ExecutorService workers = Executors.newCachedThreadPool();

    Adapter(Broker broker, PrintStream out) {
        this.broker = broker;
        this.out = out;
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 0 || !arguments[0].startsWith("oms:")) {
            System.err.println("usage: oms-adapter oms:DRIVER://HOST:PORT/REGION "
                    + "[--claims NAME,NAME,…] [--group-key ATTRIBUTE]");
            System.exit(2);
        }
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // what a driver prints must not stand between the answers
        Broker broker = new Broker(arguments[0], option(arguments, "--group-key", ""));
        new Adapter(broker, out).run(System.in, claims(arguments));
        System.exit(0);
    }

    void run(InputStream in, List<String> claims) throws IOException {
        write(greeting(claims));
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        String line;
        while ((line = lines.readLine()) != null) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            workers.submit(() -> write(answer(request)));
        }
        workers.shutdownNow();
        broker.close();
    }

    private JsonObject greeting(List<String> claims) {
        JsonObject hello = new JsonObject();
        hello.addProperty("hello", "wireproof-driver");
        hello.add("versions", array(List.of(1)));
        hello.addProperty("name", broker.name());
        hello.addProperty("version", broker.version());
        hello.add("operations", array(OPERATIONS));
        hello.add("claims", array(claims));
        return hello;
    }

    private JsonObject answer(JsonObject request) {
        JsonObject answer = new JsonObject();
        answer.add("id", request.get("id"));
        try {
            answer.add("ok", carryOut(request));
        } catch (Unsupported unknown) {
            answer.addProperty("unsupported", unknown.getMessage());
        } catch (OMSRuntimeException refused) {
            answer.add("error", error(String.valueOf(refused.getErrorCode()), refused));
        } catch (RuntimeException refused) {
            answer.add("error", error("", refused));
        }
        return answer;
    }

    private JsonObject carryOut(JsonObject request) {
        String op = request.get("op").getAsString();
        switch (op) {
            case "open", "close":
                return new JsonObject();
            case "create_destination":
                return broker.create(request);
            case "send":
                return broker.send(request);
            case "prepare":
                return broker.prepare(request);
            case "commit", "rollback":
                return broker.end(request, op.equals("commit"));
            case "receive":
                return broker.receive(request);
            case "ack":
                return broker.acknowledge(request);
            default:
                throw new Unsupported(op);
        }
    }

    private synchronized void write(JsonObject line) {
        out.println(line);
        out.flush();
    }

    private static JsonObject error(String code, RuntimeException refused) {
        JsonObject error = new JsonObject();
        String message = refused.getMessage();
        error.addProperty("message", message == null || message.isEmpty() ? refused.toString() : message);
        if (!code.isEmpty()) {
            error.addProperty("code", code);
        }
        return error;
    }

    private static JsonArray array(List<?> values) {
        JsonArray array = new JsonArray();
        for (Object value : values) {
            if (value instanceof Number number) {
                array.add(number);
            } else {
                array.add(value.toString());
            }
        }
        return array;
    }

    private static List<String> claims(String[] arguments) {
        String given = option(arguments, "--claims", String.join(",", CLAIMS));
        return Arrays.stream(given.split(",")).filter(each -> !each.isEmpty()).toList();
    }

    private static String option(String[] arguments, String name, String otherwise) {
        int at = Arrays.asList(arguments).indexOf(name);
        return at < 0 || at + 1 == arguments.length ? otherwise : arguments[at + 1];
    }
}
