package io.github.turnlog.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChangeTest {
    private static List<String> letters(String s) {
        return s == null ? List.of() : List.of(s.split(""));
    }

    @ParameterizedTest
    @CsvSource({
        // before, after, dropped, added, only the oldest are dropped
        ",,[],[],true",
        ",ab,[],'[a, b]',true",
        "ab,ab,[],[],true",
        "ab,abc,[],[c],true",
        "abc,bcd,[0],[d],true",
        "abc,de,'[0, 1, 2]','[d, e]',true",
        "abc,,'[0, 1, 2]',[],true",
        "sabc,sbcd,[1],[d],false",
        "abc,ab,[2],[],false",
        "abc,axb,'[1, 2]','[x, b]',false",
        "aa,aaa,[],[a],true",
        "aab,ab,[1],[],false",
    })
    void between(String before, String after, String dropped, String added, boolean oldest) {
        Change change = Change.between(letters(before), letters(after));
        assertEquals(dropped, change.dropped().toString());
        assertEquals(added, change.added().toString());
        assertEquals(oldest, change.dropsOldest());
        assertEquals(dropped.equals("[]") && added.equals("[]"), change.isNothing());
    }
}
