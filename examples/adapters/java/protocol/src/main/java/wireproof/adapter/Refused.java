package wireproof.adapter;

/** The system refused an operation, with a code of its own. */
public final class Refused extends Exception {
    private final String code;

    public Refused(String code, Exception cause) {
        super(cause.getMessage(), cause);
        this.code = code;
    }

    String code() {
        return code;
    }
}
