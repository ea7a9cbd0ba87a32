package io.github.turnlog.memory;

import java.io.IOException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertPathValidatorException.BasicReason;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.Locale;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;

/** Why a connection was not made, or gave no answer of turnlog's. */
final class Refusal {
    private Refusal() {}

    /** Reports whether no further attempt at the same node mends it, so that nothing was sent to it. */
    static boolean lasts(IOException e) {
        return e instanceof SSLHandshakeException || withoutTls(e);
    }

    private static boolean withoutTls(IOException e) {
        return e instanceof SSLException && String.valueOf(e.getMessage()).startsWith("Unrecognized SSL message");
    }

    /** Returns what to do, as far as it is known, and what the exception says. */
    static String explain(IOException e) {
        String known = known(e);
        return known == null ? e.toString() : known + " (" + e + ")";
    }

    private static String known(IOException e) {
        if (withoutTls(e)) {
            return "this port does not take TLS: use http, or another port";
        }
        if (String.valueOf(e.getMessage()).contains("header parser received no bytes")) {
            return "it was closed before it was answered: is this a port for HTTP, and http or https?";
        }
        if (!(e instanceof SSLHandshakeException)) {
            return null;
        }
        if (expired(e)) {
            return "renew the certificate of this node, or set the clock";
        }
        if (caused(e, CertPathBuilderException.class)) {
            return "trust the authority that has signed the certificate of this node: ca(FILE)";
        }
        String said = String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT);
        if (said.contains("no subject alternative") || said.contains("no name matching")) {
            return "connect by a name that is in the certificate of this node, or have it made for this one";
        }
        return said.contains("certificate_required") ? "the node asks for a client certificate: http(CLIENT)" : null;
    }

    private static boolean expired(Throwable e) {
        for (Throwable t = e; t != null; t = t.getCause()) {
            if (t instanceof CertificateExpiredException || t instanceof CertificateNotYetValidException
                    || t instanceof CertPathValidatorException v && v.getReason() == BasicReason.EXPIRED) {
                return true;
            }
        }
        return false;
    }

    private static boolean caused(Throwable e, Class<? extends Throwable> by) {
        return e != null && (by.isInstance(e) || caused(e.getCause(), by));
    }
}
