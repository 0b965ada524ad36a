package wireproof.adapter;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Speaks the adapter protocol in lines. A request that waits keeps no other one waiting. */
public final class Adapter {
    private final Map<String, Operation> operations;
    private final PrintStream out;
    private final ExecutorService workers = Executors.newCachedThreadPool();

    public Adapter(Map<String, Operation> operations, PrintStream out) {
        this.operations = operations;
        this.out = out;
    }

    /** Returns standard output for the answers, and sends what a client prints to standard error. */
    public static PrintStream takeOutput() {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // what a client prints must not stand between the answers
        return out;
    }

    /** Returns what stands after an option on the command line. */
    public static String option(String[] arguments, String name, String otherwise) {
        int at = Arrays.asList(arguments).indexOf(name);
        return at < 0 || at + 1 == arguments.length ? otherwise : arguments[at + 1];
    }

    /** Greets, then answers until the input ends. */
    public void run(InputStream in, String name, String version, List<String> claims) throws IOException {
        write(greeting(name, version, claims));
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        String line;
        while ((line = lines.readLine()) != null) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            workers.submit(() -> write(answer(request)));
        }
        workers.shutdownNow();
    }

    private JsonObject greeting(String name, String version, List<String> claims) {
        JsonObject hello = new JsonObject();
        JsonArray versions = new JsonArray();
        versions.add(1);
        hello.addProperty("hello", "wireproof-driver");
        hello.add("versions", versions);
        hello.addProperty("name", name);
        hello.addProperty("version", version);
        hello.add("operations", array(operations.keySet()));
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
        } catch (Refused refused) {
            answer.add("error", error(refused.code(), refused));
        } catch (Exception failed) {
            answer.add("error", error("", failed));
        }
        return answer;
    }

    private JsonObject carryOut(JsonObject request) throws Exception {
        String op = request.get("op").getAsString();
        if (op.equals("open") || op.equals("close")) {
            return new JsonObject();
        }
        Operation operation = operations.get(op);
        if (operation == null) {
            throw new Unsupported(op);
        }
        return operation.carryOut(request);
    }

    private synchronized void write(JsonObject line) {
        out.println(line);
        out.flush();
    }

    private static JsonObject error(String code, Exception failed) {
        JsonObject error = new JsonObject();
        error.addProperty("message", words(failed));
        if (!code.isEmpty()) {
            error.addProperty("code", code);
        }
        return error;
    }

    /** Returns the message of an exception and of what caused it: a client often wraps the reason. */
    private static String words(Throwable failed) {
        String message = failed.getMessage();
        String words = message == null || message.isEmpty() ? failed.toString() : message;
        Throwable cause = failed instanceof Refused ? failed.getCause().getCause() : failed.getCause();
        return cause == null || cause == failed ? words : words + " (" + words(cause) + ")";
    }

    private static JsonArray array(Iterable<String> values) {
        JsonArray array = new JsonArray();
        values.forEach(array::add);
        return array;
    }
}
