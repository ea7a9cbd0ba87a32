package io.github.turnlog.memory;

import java.util.ArrayList;
import java.util.List;

/**
 * What turns one list of messages into another. The frameworks hand over whole lists; what is sent is this.
 *
 * @param dropped indices of the messages that are gone, rising
 * @param added   is at the end
 */
record Change(List<Integer> dropped, List<String> added) {
    /** Returns the change from a list to another. What both have in the same order is kept, from the oldest on. */
    static Change between(List<String> before, List<String> after) {
        List<Integer> dropped = new ArrayList<>();
        int kept = 0; // how much of after was found
        for (int i = 0; i < before.size(); i++) {
            if (kept < after.size() && before.get(i).equals(after.get(kept))) {
                kept++;
            } else {
                dropped.add(i);
            }
        }
        return new Change(List.copyOf(dropped), List.copyOf(after.subList(kept, after.size())));
    }

    /** Reports whether only the oldest messages are gone. */
    boolean dropsOldest() {
        return dropped.isEmpty() || dropped.get(dropped.size() - 1) == dropped.size() - 1;
    }

    boolean isNothing() {
        return dropped.isEmpty() && added.isEmpty();
    }
}
