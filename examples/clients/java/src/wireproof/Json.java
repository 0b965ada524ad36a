package wireproof;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as Map, List, String, Long, Double, Boolean and null: the standard library has none. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value();
        if (json.next() != 0) {
            throw new IllegalArgumentException("more than one JSON value in a line");
        }
        return value;
    }

    private Object value() {
        switch (next()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            default:
                return word();
        }
    }

    /** Returns the next character that is no blank, without taking it; 0 at the end. */
    private char next() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private void take(char wanted) {
        if (next() != wanted) {
            throw new IllegalArgumentException("no " + wanted + " at character " + at + " of a line of JSON");
        }
        at++;
    }

    /** Returns true after a comma, and false after the end of an object or array. */
    private boolean more(char end) {
        boolean more = next() == ',';
        take(more ? ',' : end);
        return more;
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        take('{');
        if (next() == '}') {
            take('}');
            return members;
        }
        do {
            String name = string();
            take(':');
            members.put(name, value());
        } while (more('}'));
        return members;
    }

    private List<Object> array() {
        List<Object> values = new ArrayList<>();
        take('[');
        if (next() == ']') {
            take(']');
            return values;
        }
        do {
            values.add(value());
        } while (more(']'));
        return values;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        take('"');
        for (char each = text.charAt(at++); each != '"'; each = text.charAt(at++)) {
            found.append(each == '\\' ? escaped() : each);
        }
        return found.toString();
    }

    private char escaped() {
        char letter = text.charAt(at++);
        if (letter == 'u') {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 4, at), 16);
        }
        int which = "bfnrt".indexOf(letter);
        return which < 0 ? letter : "\b\f\n\r\t".charAt(which);
    }

    private Object word() {
        int begin = at;
        while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(begin, at);
        switch (word) {
            case "true":
            case "false":
                return Boolean.valueOf(word);
            case "null":
                return null;
            default:
                return word.matches("-?[0-9]{1,18}") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        }
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> members) {
            Iterator<?> names = members.keySet().iterator();
            out.append('{');
            while (names.hasNext()) {
                Object name = names.next();
                quote(name.toString(), out);
                out.append(':');
                write(members.get(name), out);
                out.append(names.hasNext() ? "," : "");
            }
            out.append('}');
        } else if (value instanceof Iterable<?> values) {
            Iterator<?> each = values.iterator();
            out.append('[');
            while (each.hasNext()) {
                write(each.next(), out);
                out.append(each.hasNext() ? "," : "");
            }
            out.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < ' ' || Character.isSurrogate(each)) { // half a pair has no UTF-8
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        out.append('"');
    }
}
