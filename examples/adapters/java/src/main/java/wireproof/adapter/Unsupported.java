package wireproof.adapter;

/** An operation, or a member of a request, that this adapter or its driver does not know. */
final class Unsupported extends RuntimeException {
    Unsupported(String what) {
        super(what);
    }
}
