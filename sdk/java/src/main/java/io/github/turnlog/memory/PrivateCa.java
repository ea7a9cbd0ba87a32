package io.github.turnlog.memory;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Collection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The certificates of a file as what a client trusts. */
final class PrivateCa {
    private PrivateCa() {}

    static SSLContext trusting(Path file) {
        try {
            KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
            trusted.load(null, null);
            for (Certificate c : certificates(file)) {
                trusted.setCertificateEntry("ca-" + trusted.size(), c);
            }
            if (trusted.size() == 0) {
                throw new IllegalArgumentException(file + " has no certificate");
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(trusted);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalArgumentException("the certificates in " + file + " cannot be read: " + e, e);
        }
    }

    private static Collection<? extends Certificate> certificates(Path file)
            throws IOException, GeneralSecurityException {
        try (InputStream pem = Files.newInputStream(file)) {
            return CertificateFactory.getInstance("X.509").generateCertificates(pem);
        }
    }
}
