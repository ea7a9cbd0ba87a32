package compat;

import java.util.List;

/** The conversations that a driver writes, through some library. */
interface History {
    void add(String conversation, String text);

    List<String> texts(String conversation);
}
