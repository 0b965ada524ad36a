package wireproof;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** What drivers of Java libraries share: the lines of docs/driver-protocol.md. */
public final class Driver {
    /** An operation: a request in, the members of `ok` out. What it throws is told as an error. */
    @FunctionalInterface
    public interface Operation {
        Map<String, ?> run(Request request) throws Exception;
    }

    /** Thrown for an operation, or a member of a request, that the library has no word for. */
    public static final class Unsupported extends RuntimeException {
        public Unsupported(String what) {
            super(what);
        }
    }

    /** A line of the kit, or an object in it. */
    public record Request(Map<String, Object> members) {
        public boolean has(String name) {
            return members.get(name) != null;
        }

        public boolean is(String name) {
            return Boolean.TRUE.equals(members.get(name));
        }

        public String text(String name) {
            return (String) members.get(name);
        }

        public int number(String name) {
            return ((Number) members.get(name)).intValue();
        }

        public byte[] bytes(String name) {
            return Base64.getDecoder().decode(text(name));
        }

        @SuppressWarnings("unchecked")
        public List<String> texts(String name) {
            return (List<String>) members.get(name);
        }

        @SuppressWarnings("unchecked")
        public Request object(String name) {
            return new Request((Map<String, Object>) members.get(name));
        }

        /** Throws if the request has one of these members: the library has no word for it. */
        public void refuse(String... names) {
            for (String name : names) {
                if (has(name) && !Boolean.FALSE.equals(members.get(name))) {
                    throw new Unsupported(name);
                }
            }
        }
    }

    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    /** Members of requests that the libraries here can be asked for, or refuse by name. */
    private static final Set<String> MEMBERS = Set.of("id", "op", "version", "settings", "topic", "body", "key", "ext",
            "tag", "trace_id", "channel", "handler", "hold_ms", "max_in_flight", "msg_timeout_ms", "ordered", "trace",
            "name", "strategy", "value", "count", "auto_commit", "messages", "partitioning");

    private Driver() {}

    /** Greets, answers requests until the input ends, and then ends the process. */
    public static void serve(String name, String version, List<String> claims, Map<String, Operation> operations)
            throws IOException {
        System.setOut(System.err); // what a library prints must not stand between the answers
        Map<String, Operation> known = new TreeMap<>(operations);
        known.keySet().removeAll(List.of("open", "close"));
        say(Map.of("hello", "wireproof-driver", "versions", List.of(1), "name", name, "version", version,
                "operations", known.keySet(), "claims", claims));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            @SuppressWarnings("unchecked")
            Request request = new Request((Map<String, Object>) Json.read(line));
            Map<String, Object> answer = new LinkedHashMap<>(Map.of("id", request.members().get("id")));
            try {
                answer.put("ok", carryOut(operations, request));
            } catch (Unsupported what) {
                answer.put("unsupported", what.getMessage());
            } catch (Exception failed) {
                String message = failed.getMessage();
                answer.put("error", Map.of("message", message == null ? failed.toString() : message));
            }
            say(answer);
        }
        System.exit(0); // threads of the library would keep the process
    }

    private static Map<String, ?> carryOut(Map<String, Operation> operations, Request request) throws Exception {
        String op = request.text("op");
        Operation operation = operations.get(op);
        if (operation == null) {
            throw new Unsupported(op);
        }
        for (String name : request.members().keySet()) {
            if (!MEMBERS.contains(name)) {
                throw new Unsupported(name);
            }
        }
        return operation.run(request);
    }

    /** Writes one line, at once. */
    public static synchronized void say(Map<String, ?> line) {
        OUT.println(Json.write(line));
        OUT.flush();
    }

    /** Returns the event that a handler was given a message of NSQ; a driver may add to it. */
    public static Map<String, Object> message(Request of, byte[] id, byte[] body, int attempts, long timestamp) {
        ByteBuffer halves = ByteBuffer.wrap(id);
        return new LinkedHashMap<>(Map.of("event", "message", "of", of.members().get("id"),
                "id", HexFormat.of().formatHex(id), "body", Base64.getEncoder().encodeToString(body),
                "internal_id", wide(halves.getLong()), "trace_id", wide(halves.getLong()),
                "attempts", attempts, "timestamp", wide(timestamp)));
    }

    /** Returns an unsigned integer that may exceed 2^53 as text. */
    public static String wide(long number) {
        return Long.toUnsignedString(number);
    }
}
