package io.github.turnlog.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The lines of docs/java.md are those of examples that compile. */
class DocsTest {
    private static final Path DOCS = Path.of("../../docs/java.md");
    private static final Path EXAMPLES = Path.of("src/test/java/io/github/turnlog/memory/examples");

    @Test
    void linesAreThoseOfExamples() throws IOException {
        Matcher block = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(Files.readString(DOCS));
        List<String> examples;
        try (Stream<Path> files = Files.list(EXAMPLES)) {
            examples = files.map(DocsTest::stripped).toList();
        }
        int blocks = 0;
        for (; block.find(); blocks++) {
            String lines = block.group(1).replaceAll("(?m)^\\s+", "");
            assertEquals(1, examples.stream().filter(e -> e.contains(lines)).count(),
                    "no example has these lines:\n" + lines);
        }
        assertEquals(2, blocks);
    }

    private static String stripped(Path file) {
        try {
            return Files.readString(file).replaceAll("(?m)^\\s+", "");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
