package io.github.turnlog.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What docs/java.md prints runs as printed, in projects that have the artifact as it is published. */
class FreshProjectTest {
    private static final String PAGE = read(Path.of("../../docs/java.md"));
    private static final String LANGCHAIN4J = """
                  <groupId>dev.langchain4j</groupId>
                  <artifactId>langchain4j</artifactId>
                  <version>1.19.0</version>
            """;
    private static final String SPRING_AI = LANGCHAIN4J.replace("dev.langchain4j", "org.springframework.ai")
            .replace("langchain4j", "spring-ai-model").replace("1.19.0", "1.1.2");

    @TempDir
    static Path dir;
    private static Cluster cluster;

    @BeforeAll
    static void start() throws Exception {
        cluster = new Cluster();
        run(Path.of("."), "./check.sh --pack '" + dir.resolve("dist/maven") + "'");
        // A repository of their own, so that neither has the artifact of an earlier build.
        String downloaded = System.getProperty("localRepository");
        run(dir, "cp -al '" + downloaded + "' m2 2>/dev/null || cp -a '" + downloaded + "' m2; rm -rf m2/io/github/turnlog");
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Runs a command of a shell, and returns what it printed. */
    private static String run(Path where, String command) throws IOException, InterruptedException {
        File output = Files.createTempFile(dir, "output", "").toFile();
        int status = new ProcessBuilder("bash", "-ec", command).directory(where.toFile())
                .redirectErrorStream(true).redirectOutput(output).start().waitFor();
        String printed = Files.readString(output.toPath());
        assertEquals(0, status, command + "\n" + printed);
        return printed;
    }

    private static List<String> blocks(String language) {
        return Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL).matcher(PAGE).results()
                .map(found -> found.group(1)).toList();
    }

    /** Makes a project of the page's pom.xml, with another dependency in place of LangChain4j's, and a program. */
    private static Path project(String name, String dependency, String program) throws IOException {
        Path sources = Files.createDirectories(dir.resolve(name + "/src/main/java"));
        String pom = blocks("xml").get(0).replace("PATH-TO-TURNLOG", dir.toString());
        assertTrue(pom.contains(LANGCHAIN4J), pom);
        Files.writeString(dir.resolve(name + "/pom.xml"), pom.replace(LANGCHAIN4J, dependency));
        for (int i = 0; i < 3; i++) {
            String printed = "http://127.0.0.1:" + (7380 + 10 * i);
            assertTrue(program.contains(printed), program);
            program = program.replace(printed, cluster.url(i));
        }
        Files.writeString(sources.resolve(name + ".java"), program);
        return dir.resolve(name);
    }

    private static String maven(Path project, String line) throws IOException, InterruptedException {
        return run(project, line.replaceFirst("^mvn", Matcher.quoteReplacement("mvn --batch-mode -Dmaven.repo.local='"
                + dir.resolve("m2") + "'")));
    }

    @Test
    void langChain4j() throws Exception {
        Path project = project("Support", LANGCHAIN4J, blocks("java").get(0));
        String line = blocks("sh").get(0).strip();
        assertTrue(maven(project, line).contains("You wrote 1 messages."));
        assertTrue(maven(project, line).contains("You wrote 2 messages."));
    }

    @Test
    void springAi() throws Exception {
        Path project = project("Chat", SPRING_AI, blocks("java").get(1));
        assertTrue(PAGE.contains("`org.springframework.ai:spring-ai-model:1.1.2`"));
        assertTrue(maven(project, "mvn -q compile exec:java -Dexec.mainClass=Chat").contains("1 messages"));
    }

    /** The lines about TLS compile; {@link SecureTest} runs others like them. */
    @Test
    void tls() throws Exception {
        assertEquals(3, blocks("java").size());
        String lines = blocks("java").get(2);
        Path project = project("Secured", LANGCHAIN4J, "// " + String.join(" ", "http://127.0.0.1:7380",
                "http://127.0.0.1:7390", "http://127.0.0.1:7400") + "\nimport io.github.turnlog.memory.TurnlogClient;\n"
                + "import java.nio.file.Path;\nclass Secured {\nvoid connect(String password) {\n" + lines + "}\n}\n");
        maven(project, "mvn -q compile");
    }
}
