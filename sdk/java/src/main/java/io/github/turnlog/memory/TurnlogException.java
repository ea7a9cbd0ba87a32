package io.github.turnlog.memory;

/** What turnlog answered, or why it did not. */
public final class TurnlogException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String code;
    private final String detail;
    private final boolean maybeApplied;

    TurnlogException(String code, String message, boolean maybeApplied, Throwable cause) {
        super(code + ": " + message + (maybeApplied ? "; the change may have taken place" : "; nothing was changed"),
                cause);
        this.code = code;
        detail = message;
        this.maybeApplied = maybeApplied;
    }

    /** Returns why, without the code and without what became of the change. */
    String detail() {
        return detail;
    }

    /** Returns this failure as that of a request which may have taken place when it was sent before. */
    TurnlogException afterUnknown() {
        return new TurnlogException(code, "an earlier attempt got no answer, and then " + detail, true, this);
    }

    /** Returns the kind of the error, as in docs/http.md: CONFLICT, TOO_LARGE, UNAVAILABLE … */
    public String code() {
        return code;
    }

    /** Reports whether a change may have taken place; otherwise it surely did not. */
    public boolean maybeApplied() {
        return maybeApplied;
    }

    /** Reports whether another program changed the conversation first. */
    public boolean isConflict() {
        return code.equals("CONFLICT");
    }
}
